import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import { replaceRole, assignRole, removeRole } from "@/api/roleAssignments";
import type { Message, User } from "@/api/types";
import { ROLES, useRoles } from "@/api/useRoles";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";

/** A role in a workspace, or in the cluster if there is no workspace. */
export interface Held {
  role: string;
  workspaceId: number | undefined;
}

/** Converts the response to a list of roles. */
export function parseHeldRoles({ roles = [] }: Message["GetRolesAssignedToUserResponse"]): Held[] {
  return roles.flatMap(({ role, userRoleAssignments = [] }) =>
    userRoleAssignments.map(({ roleAssignment }) => ({
      role: role?.name ?? "",
      workspaceId: roleAssignment?.scopeWorkspaceId || undefined,
    })),
  );
}

/** The name of the dialog that changes a role. */
const toDialogName = ({ role, workspaceId = 0 }: Held) => `role-${role}-${workspaceId}`;

/** The roles of a user. */
export function UserRoles({ user: { id = 0, username = "", admin } }: { user: User }) {
  const client = useQueryClient();
  const { may } = useRoles();
  const { data: workspaces } = useWorkspaces();
  const [dialog, setDialog] = useDialog();
  const mayChange = may("ClusterAdmin");
  const read = useQuery({
    queryKey: ["users", id, "roles"],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/roles/search/by-user/{user_id}", {
          params: { path: { user_id: id } },
          signal,
        }),
      ),
    select: parseHeldRoles,
  });
  const refresh = async () => {
    await client.invalidateQueries({ queryKey: ["users", id] });
    await client.invalidateQueries({ queryKey: ["roles"] });
  };
  const columns: ListColumn<Held>[] = [
    { head: "Role", cell: ({ role }) => role, sortBy: ({ role }) => role },
    {
      head: "Scope",
      cell: ({ workspaceId }) =>
        workspaceId ? (
          <Link to={paths.workspace(workspaceId, "members")}>
            {workspaceName(workspaces, workspaceId)}
          </Link>
        ) : (
          "the cluster"
        ),
    },
  ];
  if (mayChange)
    columns.push({
      head: "Change",
      cell: (held) =>
        // This role is the user's `admin` flag.
        held.role === "ClusterAdmin" && admin ? (
          "–"
        ) : (
          <Actions
            isInline
            actions={[
              { label: "Change role", run: () => setDialog(toDialogName(held)) },
              {
                label: "Remove",
                confirm: `Remove the role ${held.role} from ${username}?`,
                run: () => removeRole({ userId: id, ...held }).then(refresh),
              },
            ]}
          />
        ),
    });
  const changed = read.data?.find((held) => toDialogName(held) === dialog);
  const getScopeName = ({ workspaceId }: Held) =>
    workspaceId ? workspaceName(workspaces, workspaceId) : "the cluster";
  const scopes = [
    ["", "the cluster"] as const,
    ...(workspaces ?? []).map(({ id: each, name = "" }) => [String(each), name] as const),
  ];
  return (
    <Section
      title="Roles"
      head={
        mayChange && (
          <Actions
            actions={[{ label: "Assign role", isPrimary: true, run: () => setDialog("role") }]}
          />
        )
      }
    >
      {read.error ? (
        <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />
      ) : (
        <ListTable<Held>
          label={`Roles of ${username}`}
          columns={columns}
          rows={read.data}
          getId={({ role, workspaceId = 0 }) => `${role} ${workspaceId}`}
          isShort
        >
          <EmptyState command={`det rbac assign-role Editor -u ${username} -w WORKSPACE`}>
            No roles. {username} can sign in but cannot see anything.
          </EmptyState>
        </ListTable>
      )}
      {changed && mayChange && (
        <FormDialog
          title={`Role of ${username} in ${getScopeName(changed)}`}
          verb="Change"
          onClose={() => setDialog("")}
          fields={[
            {
              name: "role",
              label: "Role",
              type: "choice",
              value: changed.role,
              options: ROLES.filter((role) => !changed.workspaceId || role !== "ClusterAdmin").map(
                (role) => [role, role] as const,
              ),
            },
          ]}
          onSubmit={async (_, { role }) => {
            await replaceRole({ userId: id, ...changed }, role);
            await refresh();
          }}
        />
      )}
      {dialog === "role" && mayChange && (
        <FormDialog
          title={`Assign a role to ${username}`}
          verb="Assign"
          onClose={() => setDialog("")}
          fields={[
            {
              name: "role",
              label: "Role",
              type: "choice",
              value: "Editor",
              options: ROLES.map((role) => [role, role] as const),
              hint: "ClusterAdmin can only be assigned for the cluster",
            },
            { name: "workspace", label: "Scope", type: "choice", options: scopes },
          ]}
          onSubmit={async ({ role = "", workspace }) => {
            const workspaceId = Number(workspace) || undefined;
            await assignRole({ userId: id, role, workspaceId });
            await refresh();
          }}
        />
      )}
    </Section>
  );
}
