import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import { useGroups, type GroupRow } from "@/api/useGroups";
import { usePermissions } from "@/api/usePermissions";
import { useUsers } from "@/api/useUsers";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Count, hasText, SearchBox } from "@/components/Page/Filters";
import { Page } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { NoRoles } from "@/components/RoleList/NoRoles";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";
import { formatCount } from "@/text";

const columns: ListColumn<GroupRow>[] = [
  {
    head: "Group",
    share: 3,
    minWidth: 180,
    cell: ({ group }) => <Link to={paths.group(group?.groupId ?? 0)}>{group?.name}</Link>,
    sortBy: ({ group }) => group?.name,
  },
  {
    head: "Members",
    isNumber: true,
    minWidth: 88,
    cell: ({ numMembers = 0 }) => numMembers,
    sortBy: ({ numMembers = 0 }) => numMembers,
  },
];

/** The groups of users. */
export default function Groups() {
  const { may, isBasic } = usePermissions();
  const [query] = useParam("q");
  const [dialog, setDialog] = useDialog();
  const { data, error, refetch } = useGroups();
  if (isBasic)
    return (
      <Page title="Groups">
        <NoRoles />
      </Page>
    );
  const mayChange = may("UPDATE_GROUP");
  const shown = data?.filter(({ group }) => hasText(query, group?.name));
  return (
    <Page
      title="Groups"
      error={error}
      onRetry={() => void refetch()}
      head={
        <>
          <SearchBox label="Search groups" />
          <Count>{shown && formatCount(shown.length, "group")}</Count>
          {mayChange && (
            <Actions
              actions={[{ label: "New group", isPrimary: true, run: () => setDialog("create") }]}
            />
          )}
        </>
      }
    >
      <ListTable<GroupRow>
        label="Groups"
        columns={columns}
        rows={shown}
        getId={({ group }) => group?.groupId ?? 0}
      >
        {query ? (
          <EmptyState>No groups match the search.</EmptyState>
        ) : mayChange ? (
          <EmptyState command="det user-group create GROUP">
            No groups yet. The roles of a group apply to all its members.
          </EmptyState>
        ) : (
          <EmptyState>You are not a member of any group.</EmptyState>
        )}
      </ListTable>
      {dialog === "create" && mayChange && <Create onClose={() => setDialog("")} />}
    </Page>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const { data: users = [] } = useUsers();
  return (
    <FormDialog
      title="New group"
      verb="Create"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true },
        {
          name: "users",
          label: "Members",
          type: "checks",
          options: users
            .filter(({ active }) => active)
            .map(({ id, username = "" }) => [String(id), username] as const),
        },
      ]}
      onSubmit={async ({ name = "", users: members = "" }) => {
        const { group } = await unwrap(
          api.POST("/api/v1/groups", {
            body: {
              name: name.trim(),
              addUsers: members.split(",").filter(Boolean).map(Number),
            },
          }),
        );
        await client.invalidateQueries({ queryKey: ["groups"] });
        return paths.group(group?.groupId ?? 0);
      }}
    />
  );
}
