import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { replaceRole, assignRole, removeRole } from "@/api/roleAssignments";
import { ROLES, useRoles, type RoleName } from "@/api/useRoles";
import { useUsers } from "@/api/useUsers";
import type { Workspace } from "@/api/useWorkspaces";
import type { Message } from "@/api/types";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";

/** A user's role in a workspace. */
export interface Member {
  userId: number;
  username: string;
  role: string;
}

/** Converts the response to a list of members, by name. */
export function parseMembers(
  answer: Message["GetGroupsAndUsersAssignedToWorkspaceResponse"],
): Member[] {
  const names = new Map(
    answer.usersAssignedDirectly?.map(({ id, username = "", displayName }) => [
      id,
      displayName && displayName !== username ? `${displayName} (${username})` : username,
    ]),
  );
  return (answer.assignments ?? [])
    .flatMap(({ role, userRoleAssignments }) =>
      (userRoleAssignments ?? []).map(({ userId = 0 }) => ({
        userId,
        username: names.get(userId) ?? String(userId),
        role: role?.name ?? "",
      })),
    )
    .sort((a, b) => a.username.localeCompare(b.username));
}

/** The name of the dialog that changes a role. */
const toDialogName = ({ userId, role }: Member) => `role-${role}-${userId}`;

/** Refetches the workspace's members and all roles. */
function useRefreshMembers(workspaceId: number) {
  const client = useQueryClient();
  return async () => {
    await client.invalidateQueries({ queryKey: membersKey(workspaceId) });
    await client.invalidateQueries({ queryKey: ["roles"] });
  };
}
const membersKey = (workspaceId: number) => ["workspaces", workspaceId, "members"];

/** The members of the workspace and their roles. */
export function Members({ workspace: { id = 0, name = "" } }: { workspace: Workspace }) {
  const refresh = useRefreshMembers(id);
  const { may } = useRoles();
  const [dialog, setDialog] = useDialog();
  const mayChange = may("WorkspaceAdmin", id);
  const read = useQuery({
    queryKey: membersKey(id),
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/roles/workspace/{workspace_id}", {
          params: { path: { workspace_id: id } },
          signal,
        }),
      ),
    select: parseMembers,
  });
  const columns: ListColumn<Member>[] = [
    { head: "User", cell: ({ username }) => username, sortBy: ({ username }) => username },
    { head: "Role", cell: ({ role }) => role, sortBy: ({ role }) => role },
  ];
  if (mayChange)
    columns.push({
      head: "Change",
      cell: (member) => (
        <Actions
          isInline
          actions={[
            { label: "Change role", run: () => setDialog(toDialogName(member)) },
            {
              label: "Remove",
              confirm: `Remove the role ${member.role} in ${name} from ${member.username}?`,
              run: () => removeRole({ ...member, workspaceId: id }).then(refresh),
            },
          ]}
        />
      ),
    });
  const changed = read.data?.find((member) => toDialogName(member) === dialog);
  return (
    <Section
      title="Members"
      head={
        mayChange && (
          <Actions
            actions={[{ label: "Add member", isPrimary: true, run: () => setDialog("member") }]}
          />
        )
      }
    >
      <p>Cluster roles apply in every workspace and are not listed here.</p>
      {read.error ? (
        <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />
      ) : (
        <ListTable<Member>
          label={`Members of ${name}`}
          columns={columns}
          rows={read.data}
          getId={({ userId, role }) => `${userId} ${role}`}
          isShort
        >
          <EmptyState command={`det rbac assign-role Editor -u USER -w '${name}'`}>
            No members. Users with cluster roles still have access.
          </EmptyState>
        </ListTable>
      )}
      {changed && mayChange && (
        <Change id={id} name={name} member={changed} onClose={() => setDialog("")} />
      )}
      {dialog === "member" && mayChange && (
        <Add id={id} name={name} onClose={() => setDialog("")} />
      )}
    </Section>
  );
}

const MAY: Record<RoleName, string> = {
  Viewer: "can read",
  Editor: "can also create and change experiments and models",
  WorkspaceAdmin: "can also change the workspace, its projects and members",
  ClusterAdmin: "",
};

const CHOICES = ROLES.slice(0, 3).map((role) => [role, `${role}: ${MAY[role]}`] as const);

interface ChangeProps {
  id: number;
  name: string;
  member: Member;
  onClose: () => void;
}

function Change({ id, name, member, onClose }: ChangeProps) {
  const refresh = useRefreshMembers(id);
  return (
    <FormDialog
      title={`Role of ${member.username} in ${name}`}
      verb="Change"
      onClose={onClose}
      fields={[
        {
          name: "role",
          label: "Role",
          type: "choice",
          value: member.role,
          options: CHOICES,
        },
      ]}
      onSubmit={async (_, { role }) => {
        await replaceRole({ ...member, workspaceId: id }, role);
        await refresh();
      }}
    />
  );
}

function Add({ id, name, onClose }: { id: number; name: string; onClose: () => void }) {
  const refresh = useRefreshMembers(id);
  const { data: users } = useUsers();
  if (!users) return null;
  const options = users
    .filter(({ active }) => active)
    .map(({ id: user = 0, username = "" }) => [String(user), username] as const);
  return (
    <FormDialog
      title={`New member of ${name}`}
      verb="Add"
      onClose={onClose}
      fields={[
        {
          name: "user",
          label: "User",
          type: "choice",
          options,
          value: options[0]?.[0],
        },
        {
          name: "role",
          label: "Role",
          type: "choice",
          value: "Editor",
          options: CHOICES,
        },
      ]}
      onSubmit={async ({ user, role = "" }) => {
        await assignRole({ userId: Number(user), role, workspaceId: id });
        await refresh();
      }}
    />
  );
}
