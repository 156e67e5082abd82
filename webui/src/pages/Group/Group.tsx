import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message, User } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import { useUsers } from "@/api/useUsers";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Labels, Page, Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { NoRoles } from "@/components/RoleList/NoRoles";
import { RoleList, type HeldRole } from "@/components/RoleList/RoleList";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";
import { formatCount, quote } from "@/text";

type GroupData = Message["GroupDetails"];

/** Changes the group and refetches what depends on it. */
function useUpdate(groupId: number) {
  const client = useQueryClient();
  return async (body: { name?: string; addUsers?: number[]; removeUsers?: number[] }) => {
    await api.PUT("/api/v1/groups/{group_id}", {
      params: { path: { group_id: groupId } },
      body: { groupId, ...body },
    });
    await client.invalidateQueries({ queryKey: ["groups"] });
    // The members' roles changed, perhaps also those of the caller.
    await client.invalidateQueries({ queryKey: ["users"] });
    await client.invalidateQueries({ queryKey: ["roles"] });
  };
}

/** A group: members and roles. */
export default function Group() {
  const id = Number(useParams()["id"]);
  const { isBasic } = usePermissions();
  const read = useQuery({
    queryKey: ["groups", id],
    queryFn: async ({ signal }) => {
      const path = { group_id: id };
      const call = api.GET("/api/v1/groups/{group_id}", { params: { path }, signal });
      return (await unwrap(call)).group ?? {};
    },
  });
  const group = read.data;
  const name = group?.name ?? `Group ${id}`;
  useCrumbs([{ label: "Groups", to: paths.groups }, { label: name }]);
  if (!group) return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  if (isBasic)
    return (
      <Page title={name} id={id}>
        <NoRoles />
      </Page>
    );
  return <GroupDetails group={group} />;
}

function GroupDetails({ group }: { group: GroupData }) {
  const { groupId: id = 0, name = "", users = [] } = group;
  const client = useQueryClient();
  const navigate = useNavigate();
  const { may } = usePermissions();
  const [dialog, setDialog] = useDialog();
  const update = useUpdate(id);
  const close = () => setDialog("");
  const mayChange = may("UPDATE_GROUP");
  return (
    <Page
      title={name}
      id={id}
      head={
        mayChange && (
          <Actions
            actions={[
              { label: "Rename", run: () => setDialog("rename") },
              {
                label: "Delete",
                confirm: `Delete the group ${name} and its roles? Its ${formatCount(users.length, "member")} lose the access that they have only through this group.`,
                run: async () => {
                  await api.DELETE("/api/v1/groups/{group_id}", {
                    params: { path: { group_id: id } },
                  });
                  await navigate(paths.groups);
                  client.removeQueries({ queryKey: ["groups", id] });
                  await client.invalidateQueries({ queryKey: ["groups"] });
                  await client.invalidateQueries({ queryKey: ["roles"] });
                },
              },
            ]}
          />
        )
      }
    >
      <Members group={group} mayChange={mayChange} onAdd={() => setDialog("members")} />
      <GroupRoles id={id} name={name} />
      {dialog === "rename" && mayChange && (
        <FormDialog
          title={`Rename ${name}`}
          verb="Rename"
          onClose={close}
          fields={[{ name: "name", label: "Name", required: true, value: name }]}
          onSubmit={async (_, { name: next }) => {
            if (next !== undefined) await update({ name: next.trim() });
          }}
        />
      )}
      {dialog === "members" && mayChange && <AddMembers group={group} onClose={close} />}
    </Page>
  );
}

interface MembersProps {
  group: GroupData;
  mayChange: boolean;
  onAdd: () => void;
}

function Members({
  group: { groupId = 0, name = "", users = [] },
  mayChange,
  onAdd,
}: MembersProps) {
  const update = useUpdate(groupId);
  const columns: ListColumn<User>[] = [
    {
      head: "Username",
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
      cell: ({ displayName }) => displayName || "–",
      sortBy: ({ displayName }) => displayName,
    },
  ];
  if (mayChange)
    columns.push({
      head: "Change",
      cell: ({ id = 0, username = "" }) => (
        <Actions
          isInline
          actions={[
            {
              label: "Remove",
              confirm: `Remove ${username} from ${name}? The roles of the group no longer apply to ${username}.`,
              run: () => update({ removeUsers: [id] }),
            },
          ]}
        />
      ),
    });
  return (
    <Section
      title="Members"
      head={
        mayChange && <Actions actions={[{ label: "Add members", isPrimary: true, run: onAdd }]} />
      }
    >
      <ListTable<User>
        label={`Members of ${name}`}
        columns={columns}
        rows={[...users].sort((a, b) => (a.username ?? "").localeCompare(b.username ?? ""))}
        getId={({ id = 0 }) => id}
        isShort
      >
        <EmptyState command={`det user-group add-user ${quote(name)} USER`}>
          No members yet.
        </EmptyState>
      </ListTable>
    </Section>
  );
}

function AddMembers({ group, onClose }: { group: GroupData; onClose: () => void }) {
  const { groupId = 0, name = "", users: members = [] } = group;
  const { data: users } = useUsers();
  const update = useUpdate(groupId);
  if (!users) return null;
  return (
    <FormDialog
      title={`Add members to ${name}`}
      verb="Add"
      onClose={onClose}
      fields={[
        {
          name: "users",
          label: "Users",
          type: "checks",
          options: users
            .filter(({ id, active }) => active && !members.some((member) => member.id === id))
            .map(({ id, username = "" }) => [String(id), username] as const),
        },
      ]}
      onSubmit={async ({ users: added = "" }) => {
        if (added) await update({ addUsers: added.split(",").map(Number) });
      }}
    />
  );
}

/** Converts the response to a list of roles. */
export function parseGroupRoles({
  roles = [],
  assignments = [],
}: Message["GetRolesAssignedToGroupResponse"]): HeldRole[] {
  return assignments.flatMap(({ roleId = 0, scopeCluster, scopeWorkspaceIds = [] }) => {
    const role = roles.find((each) => each.roleId === roleId)?.name ?? "";
    return [
      ...(scopeCluster ? [{ role, roleId, workspaceId: undefined }] : []),
      ...scopeWorkspaceIds.map((workspaceId) => ({ role, roleId, workspaceId })),
    ];
  });
}

function GroupRoles({ id, name }: { id: number; name: string }) {
  const queryKey = ["groups", id, "roles"];
  const read = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/roles/search/by-group/{group_id}", {
          params: { path: { group_id: id } },
          signal,
        }),
      ),
    select: parseGroupRoles,
  });
  if (read.error) return <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />;
  return <RoleList holder={{ groupId: id }} name={name} queryKey={queryKey} roles={read.data} />;
}
