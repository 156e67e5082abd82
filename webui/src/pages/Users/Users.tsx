import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import type { User } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import { useUsers } from "@/api/useUsers";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Count, hasText, ParamCheck, SearchBox } from "@/components/Page/Filters";
import { Labels, Page } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { formatCount } from "@/text";

const columns: ListColumn<User>[] = [
  {
    head: "Username",
    share: 2,
    minWidth: 160,
    cell: ({ id = 0, username, active }) => (
      <>
        <Link to={paths.user(id)}>{username}</Link>{" "}
        <Labels labels={active ? [] : ["deactivated"]} />
      </>
    ),
    sortBy: ({ username }) => username,
  },
  {
    head: "Display name",
    share: 2,
    cell: ({ displayName }) => displayName || "–",
    sortBy: ({ displayName }) => displayName,
  },
  {
    head: "Cluster admin",
    cell: ({ admin }) => (admin ? "yes" : "no"),
    sortBy: ({ admin }) => (admin ? "yes" : "no"),
  },
  {
    head: "Sign-in",
    cell: ({ remote }) => (remote ? "external" : "password"),
    sortBy: ({ remote }) => (remote ? "external" : "password"),
  },
  {
    head: "Last seen",
    cell: ({ lastAuthAt }) => <Time at={lastAuthAt} />,
    sortBy: ({ lastAuthAt }) => lastAuthAt,
  },
  {
    head: "Last modified",
    cell: ({ modifiedAt }) => <Time at={modifiedAt} />,
    sortBy: ({ modifiedAt }) => modifiedAt,
  },
];

/** The users of the cluster. */
export default function Users() {
  const { may } = usePermissions();
  const [query] = useParam("q");
  const [inactive] = useParam("inactive");
  const [dialog, setDialog] = useDialog();
  const { data, error, refetch } = useUsers();
  const shown = data?.filter(
    (user) =>
      (inactive === "yes" || user.active) && hasText(query, user.username, user.displayName),
  );
  return (
    <Page
      title="Users"
      error={error}
      onRetry={() => void refetch()}
      head={
        <>
          <SearchBox label="Search users" />
          <ParamCheck name="inactive" label="Show deactivated" />
          <Count>{shown && formatCount(shown.length, "user")}</Count>
          {may("ADMINISTRATE_USER") && (
            <Actions
              actions={[{ label: "New user", isPrimary: true, run: () => setDialog("create") }]}
            />
          )}
        </>
      }
    >
      <ListTable<User> label="Users" columns={columns} rows={shown} getId={({ id = 0 }) => id}>
        <EmptyState>
          {query
            ? "No users match the search."
            : "All users are deactivated. Select Show deactivated to see them."}
        </EmptyState>
      </ListTable>
      {dialog === "create" && may("ADMINISTRATE_USER") && <Create onClose={() => setDialog("")} />}
    </Page>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  return (
    <FormDialog
      title="New user"
      verb="Create"
      onClose={onClose}
      fields={[
        { name: "username", label: "Username", required: true, hint: "Used to sign in" },
        { name: "displayName", label: "Display name", hint: "Shown to other users" },
        { name: "password", label: "Password", type: "password", required: true },
        { name: "admin", label: "Cluster admin", type: "check" },
      ]}
      onSubmit={async ({ username = "", displayName = "", password = "", admin }) => {
        const { user } = await unwrap(
          api.POST("/api/v1/users", {
            body: {
              user: {
                username: username.trim(),
                displayName: displayName.trim(),
                active: true,
                admin: admin === "yes",
              },
              password,
            },
          }),
        );
        await client.invalidateQueries({ queryKey: ["users"] });
        return paths.user(user?.id ?? 0);
      }}
    />
  );
}
