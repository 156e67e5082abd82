import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import {
  assignRole,
  removeRole,
  replaceRole,
  type RoleHolder,
  type RoleInScope,
} from "@/api/roleAssignments";
import { usePermissions } from "@/api/usePermissions";
import { getAssignable, mayAssign, toRoleOptions, useRoleList } from "@/api/useRoleList";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { paths } from "@/paths";
import { quote } from "@/text";
import { Actions } from "../Actions/Actions";
import { EmptyState } from "../EmptyState/EmptyState";
import { FormDialog } from "../FormDialog/FormDialog";
import { Section } from "../Page/Page";
import { useDialog } from "../Page/useParam";
import { ListTable, type ListColumn } from "../table/ListTable";
import { NoRoles } from "./NoRoles";

/** A role of a user or a group. */
export interface HeldRole extends RoleInScope {
  role: string;
  /** The group through which a user has the role. */
  through?: { groupId: number; name: string };
  /** Why the role cannot be removed here. */
  fixed?: string;
}

interface Props {
  /** The user or group, and its name. */
  holder: RoleHolder;
  name: string;
  /** Undefined while loading. */
  roles: readonly HeldRole[] | undefined;
  /** The query to refetch after a change. */
  queryKey: readonly unknown[];
}

const getKey = ({ roleId, workspaceId = 0, through }: HeldRole) =>
  `role-${roleId}-${workspaceId}-${through?.groupId ?? ""}`;

/** The roles of a user or a group, with dialogs to assign, change and remove them. */
export function RoleList({ holder, name, roles, queryKey }: Props) {
  const client = useQueryClient();
  const permissions = usePermissions();
  const { data: workspaces } = useWorkspaces();
  const mayAny = permissions.mayAnywhere("ASSIGN_ROLES");
  const { data: allRoles = [] } = useRoleList(mayAny);
  const [dialog, setDialog] = useDialog();
  const refresh = async () => {
    await client.invalidateQueries({ queryKey });
    await client.invalidateQueries({ queryKey: ["roles"] });
  };
  if (permissions.isBasic)
    return (
      <Section title="Roles">
        <NoRoles />
      </Section>
    );
  const isUser = "userId" in holder;
  const getScopeName = (workspaceId: number | undefined) =>
    workspaceId ? workspaceName(workspaces, workspaceId) : "the cluster";
  const columns: ListColumn<HeldRole>[] = [
    {
      head: "Role",
      cell: ({ role, roleId }) => <Link to={paths.role(roleId)}>{role}</Link>,
      sortBy: ({ role }) => role,
    },
    {
      head: "Scope",
      cell: ({ workspaceId }) =>
        workspaceId ? (
          <Link to={paths.workspace(workspaceId, "members")}>{getScopeName(workspaceId)}</Link>
        ) : (
          "the cluster"
        ),
      sortBy: ({ workspaceId }) => getScopeName(workspaceId),
    },
  ];
  if (isUser)
    columns.push({
      head: "Through",
      cell: ({ through }) =>
        through ? <Link to={paths.group(through.groupId)}>{`group ${through.name}`}</Link> : "–",
      sortBy: ({ through }) => through?.name,
    });
  if (mayAny)
    columns.push({
      head: "Change",
      minWidth: 240,
      cell: (held) => {
        if (held.through) return "–";
        if (held.fixed) return <span title={held.fixed}>–</span>;
        if (!mayAssign(permissions, held.workspaceId)) return "–";
        return (
          <Actions
            isInline
            actions={[
              { label: "Change role", run: () => setDialog(getKey(held)) },
              {
                label: "Remove",
                confirm: `Remove the role ${held.role} in ${getScopeName(held.workspaceId)} from ${name}?`,
                run: () => removeRole(holder, held).then(refresh),
              },
            ]}
          />
        );
      },
    });
  const scopes = [
    ...(mayAssign(permissions, undefined) ? [["", "the cluster"] as const] : []),
    ...(workspaces ?? [])
      .filter(({ id }) => mayAssign(permissions, id))
      .map(({ id, name: each = "" }) => [String(id), each] as const),
  ];
  const changed = roles?.find((held) => getKey(held) === dialog);
  const getOptions = (workspaceId: number | undefined) =>
    toRoleOptions(getAssignable(allRoles, permissions, workspaceId));
  return (
    <Section
      title="Roles"
      head={
        scopes.length > 0 && (
          <Actions
            actions={[{ label: "Assign role", isPrimary: true, run: () => setDialog("role") }]}
          />
        )
      }
    >
      <ListTable<HeldRole>
        label={`Roles of ${name}`}
        columns={columns}
        rows={roles}
        getId={getKey}
        isShort
      >
        <EmptyState
          command={`det rbac assign-role Editor ${isUser ? "-u" : "-g"} ${quote(name)} -w WORKSPACE`}
        >
          {isUser
            ? `No roles. ${name} can sign in but cannot see anything.`
            : `No roles. Members of ${name} have only their own roles.`}
        </EmptyState>
      </ListTable>
      {changed && mayAssign(permissions, changed.workspaceId) && (
        <FormDialog
          title={`Role of ${name} in ${getScopeName(changed.workspaceId)}`}
          verb="Change"
          onClose={() => setDialog("")}
          fields={[
            {
              name: "role",
              label: "Role",
              type: "choice",
              value: String(changed.roleId),
              options: () => getOptions(changed.workspaceId),
            },
          ]}
          onSubmit={async ({ role }) => {
            await replaceRole(holder, changed, Number(role));
            await refresh();
          }}
        />
      )}
      {dialog === "role" && scopes.length > 0 && workspaces && allRoles.length > 0 && (
        <FormDialog
          title={`Assign a role to ${name}`}
          verb="Assign"
          onClose={() => setDialog("")}
          fields={[
            {
              name: "workspace",
              label: "Scope",
              type: "choice",
              value: scopes[0]?.[0],
              options: scopes,
              hint: "A role in the cluster applies in every workspace",
            },
            {
              name: "role",
              label: "Role",
              type: "choice",
              value: String(allRoles.find((each) => each.name === "Editor")?.roleId),
              options: ({ workspace }) => getOptions(Number(workspace) || undefined),
            },
          ]}
          onSubmit={async ({ role, workspace }) => {
            await assignRole(holder, {
              roleId: Number(role),
              workspaceId: Number(workspace) || undefined,
            });
            await refresh();
          }}
        />
      )}
    </Section>
  );
}
