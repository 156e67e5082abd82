import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import {
  assignRole,
  removeRole,
  replaceRole,
  type RoleHolder,
  type RoleInScope,
} from "@/api/roleAssignments";
import type { Message } from "@/api/types";
import { useGroups } from "@/api/useGroups";
import { usePermissions } from "@/api/usePermissions";
import { getAssignable, toRoleOptions, useRoleList } from "@/api/useRoleList";
import { useUsers } from "@/api/useUsers";
import type { Workspace } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { NoRoles } from "@/components/RoleList/NoRoles";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";
import { formatCount, quote } from "@/text";

/** The role of a user or a group in a workspace. */
export interface Member extends RoleInScope {
  holder: RoleHolder;
  name: string;
  role: string;
  /** The number of members of a group. */
  size?: number;
}

/** Converts the response to a list of members: groups, then users, by name. */
export function parseMembers(
  answer: Message["GetGroupsAndUsersAssignedToWorkspaceResponse"],
): Member[] {
  const names = new Map(
    answer.usersAssignedDirectly?.map(({ id, username = "", displayName }) => [
      id,
      displayName && displayName !== username ? `${displayName} (${username})` : username,
    ]),
  );
  const groups = new Map(answer.groups?.map((group) => [group.groupId, group]));
  const assignments = answer.assignments ?? [];
  const byName = (a: Member, b: Member) => a.name.localeCompare(b.name);
  const ofGroups = assignments.flatMap(({ role, groupRoleAssignments = [] }) =>
    groupRoleAssignments.map(({ groupId = 0 }) => ({
      holder: { groupId },
      name: groups.get(groupId)?.name ?? String(groupId),
      size: groups.get(groupId)?.users?.length ?? 0,
      roleId: role?.roleId ?? 0,
      role: role?.name ?? "",
    })),
  );
  const ofUsers = assignments.flatMap(({ role, userRoleAssignments = [] }) =>
    userRoleAssignments.map(({ userId = 0 }) => ({
      holder: { userId },
      name: names.get(userId) ?? String(userId),
      roleId: role?.roleId ?? 0,
      role: role?.name ?? "",
    })),
  );
  return [...ofGroups.sort(byName), ...ofUsers.sort(byName)];
}

const getKey = ({ holder, roleId }: Member) =>
  "userId" in holder ? `role-${roleId}-${holder.userId}` : `role-${roleId}-group-${holder.groupId}`;

/** Refetches the workspace's members and all roles. */
function useRefreshMembers(workspaceId: number) {
  const client = useQueryClient();
  return async () => {
    await client.invalidateQueries({ queryKey: membersKey(workspaceId) });
    await client.invalidateQueries({ queryKey: ["roles"] });
  };
}
const membersKey = (workspaceId: number) => ["workspaces", workspaceId, "members"];

/** The users and groups with roles in the workspace. */
export function Members({ workspace: { id = 0, name = "" } }: { workspace: Workspace }) {
  const refresh = useRefreshMembers(id);
  const { may, isBasic } = usePermissions();
  const [dialog, setDialog] = useDialog();
  const mayChange = may("ASSIGN_ROLES", id);
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
  if (isBasic)
    return (
      <Section title="Members">
        <NoRoles />
      </Section>
    );
  const columns: ListColumn<Member>[] = [
    {
      head: "User or group",
      minWidth: 200,
      cell: (member) => <MemberName member={member} />,
      sortBy: (member) => member.name,
    },
    {
      head: "Role",
      cell: ({ role, roleId }) => <Link to={paths.role(roleId)}>{role}</Link>,
      sortBy: ({ role }) => role,
    },
  ];
  if (mayChange)
    columns.push({
      head: "Change",
      minWidth: 240,
      cell: (member) => (
        <Actions
          isInline
          actions={[
            { label: "Change role", run: () => setDialog(getKey(member)) },
            {
              label: "Remove",
              confirm: `Remove the role ${member.role} in ${name} from ${member.name}?`,
              run: () =>
                removeRole(member.holder, { roleId: member.roleId, workspaceId: id }).then(refresh),
            },
          ]}
        />
      ),
    });
  const changed = read.data?.find((member) => getKey(member) === dialog);
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
          getId={getKey}
          isShort
        >
          <EmptyState command={`det rbac assign-role Editor -u USER -w ${quote(name)}`}>
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

function MemberName({ member: { holder, name, size = 0 } }: { member: Member }) {
  const { data: groups } = useGroups();
  if ("userId" in holder) return <Link to={paths.user(holder.userId)}>{name}</Link>;
  const isVisible = groups?.some(({ group }) => group?.groupId === holder.groupId);
  const label = `group ${name}`;
  return (
    <>
      {isVisible ? <Link to={paths.group(holder.groupId)}>{label}</Link> : label} (
      {formatCount(size, "member")})
    </>
  );
}

const MAY: Record<string, string> = {
  Viewer: "can read",
  Editor: "can also create and change experiments and models",
  WorkspaceAdmin: "can also change the workspace, its projects and members",
};

/** The roles that the caller may assign in the workspace, as options of a form. */
function useRoleOptions(workspaceId: number) {
  const permissions = usePermissions();
  const { data: roles = [] } = useRoleList();
  return toRoleOptions(getAssignable(roles, permissions, workspaceId)).map(
    ([id, role]) => [id, MAY[role] ? `${role}: ${MAY[role]}` : role] as const,
  );
}

interface ChangeProps {
  id: number;
  name: string;
  member: Member;
  onClose: () => void;
}

function Change({ id, name, member, onClose }: ChangeProps) {
  const refresh = useRefreshMembers(id);
  const options = useRoleOptions(id);
  if (options.length === 0) return null;
  return (
    <FormDialog
      title={`Role of ${member.name} in ${name}`}
      verb="Change"
      onClose={onClose}
      fields={[
        {
          name: "role",
          label: "Role",
          type: "choice",
          value: String(member.roleId),
          options: () => options,
        },
      ]}
      onSubmit={async ({ role }) => {
        const held = { roleId: member.roleId, workspaceId: id };
        await replaceRole(member.holder, held, Number(role));
        await refresh();
      }}
    />
  );
}

function Add({ id, name, onClose }: { id: number; name: string; onClose: () => void }) {
  const refresh = useRefreshMembers(id);
  const roles = useRoleOptions(id);
  const { data: users } = useUsers();
  const { data: groups } = useGroups();
  if (!users || !groups || roles.length === 0) return null;
  const holders = [
    ...groups.map(
      ({ group }) => [`group-${group?.groupId ?? 0}`, `group ${group?.name ?? ""}`] as const,
    ),
    ...users
      .filter(({ active }) => active)
      .map(({ id: user = 0, username = "" }) => [String(user), username] as const),
  ];
  return (
    <FormDialog
      title={`New member of ${name}`}
      verb="Add"
      onClose={onClose}
      fields={[
        {
          name: "holder",
          label: "User or group",
          type: "choice",
          options: holders,
          value: holders[0]?.[0],
        },
        {
          name: "role",
          label: "Role",
          type: "choice",
          value: roles.find(([, words]) => words.startsWith("Editor:"))?.[0],
          options: () => roles,
        },
      ]}
      onSubmit={async ({ holder = "", role }) => {
        const [, group] = /^group-(\d+)$/.exec(holder) ?? [];
        await assignRole(group ? { groupId: Number(group) } : { userId: Number(holder) }, {
          roleId: Number(role),
          workspaceId: id,
        });
        await refresh();
      }}
    />
  );
}
