import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { useGroups } from "@/api/useGroups";
import { usePermissions } from "@/api/usePermissions";
import { isCreated } from "@/api/useRoleList";
import { useUsers } from "@/api/useUsers";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Facts, Page, Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { NoRoles } from "@/components/RoleList/NoRoles";
import { RoleForm } from "@/components/RoleList/RoleForm";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";
import { quote } from "@/text";

type RoleData = Message["RoleWithAssignments"];
type Permission = Message["Permission"];

const getScope = ({ scopeTypeMask }: Permission) =>
  scopeTypeMask?.workspace ? "cluster or workspace" : "cluster only";

const permissionColumns: ListColumn<Permission>[] = [
  { head: "Permission", share: 2, cell: ({ name }) => name, sortBy: ({ name }) => name },
  { head: "Applies in", minWidth: 160, cell: getScope, sortBy: getScope },
];

/** A role: its permissions, and the users and groups that have it. */
export default function Role() {
  const id = Number(useParams()["id"]);
  const { isBasic } = usePermissions();
  const read = useQuery({
    queryKey: ["roles", id],
    queryFn: async ({ signal }) => {
      const call = api.POST("/api/v1/roles/search/by-ids", { body: { roleIds: [id] }, signal });
      return (await unwrap(call)).roles?.[0] ?? {};
    },
  });
  const name = read.data?.role?.name ?? `Role ${id}`;
  useCrumbs([{ label: "Roles", to: paths.roles }, { label: name }]);
  if (!read.data)
    return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  if (isBasic)
    return (
      <Page title={name} id={id}>
        <NoRoles />
      </Page>
    );
  return <RoleDetails data={read.data} />;
}

function RoleDetails({ data }: { data: RoleData }) {
  const { role = {}, userRoleAssignments = [], groupRoleAssignments = [] } = data;
  const { roleId: id = 0, name = "", permissions = [] } = role;
  const client = useQueryClient();
  const navigate = useNavigate();
  const { may } = usePermissions();
  const [dialog, setDialog] = useDialog();
  const refresh = () => client.invalidateQueries({ queryKey: ["roles"] });
  const mayChange = may("UPDATE_ROLES");
  const isAssigned = userRoleAssignments.length + groupRoleAssignments.length > 0;
  return (
    <Page
      title={name}
      id={id}
      head={
        mayChange && (
          <Actions
            actions={[
              { label: "Copy", run: () => navigate(paths.copyRole(id)) },
              isCreated(role) && { label: "Edit", run: () => setDialog("edit") },
              isCreated(role) && {
                label: "Delete",
                refused: isAssigned && "The role is assigned; remove its assignments first",
                confirm: `Delete the role ${name}?`,
                run: async () => {
                  await api.DELETE("/api/v1/roles/{role_role_id}", {
                    params: { path: { role_role_id: id } },
                  });
                  await navigate(paths.roles);
                  client.removeQueries({ queryKey: ["roles", id] });
                  await refresh();
                },
              },
            ]}
          />
        )
      }
    >
      <Facts
        facts={[
          ["Origin", isCreated(role) ? "created" : "built in; cannot be changed"],
          ["Assignable in", getScope(role)],
        ]}
      />
      {may("ASSIGN_ROLES") && <Assignments data={data} />}
      <Section title="Permissions">
        <ListTable<Permission>
          label={`Permissions of ${name}`}
          columns={permissionColumns}
          rows={[...permissions].sort((a, b) => (a.name ?? "").localeCompare(b.name ?? ""))}
          getId={({ id: each = "" }) => each}
          isShort
        >
          <EmptyState>No permissions.</EmptyState>
        </ListTable>
      </Section>
      {dialog === "edit" && mayChange && isCreated(role) && (
        <RoleForm
          title={`Edit ${name}`}
          verb="Save"
          name={name}
          permissions={permissions}
          onClose={() => setDialog("")}
          onSubmit={async (next) => {
            await api.PUT("/api/v1/roles/{role_role_id}", {
              params: { path: { role_role_id: id } },
              body: next,
            });
            await refresh();
          }}
        />
      )}
    </Page>
  );
}

/** A user or a group that has the role in a scope. */
interface Assignment {
  holder: string;
  to: string;
  workspaceId: number | undefined;
}

function Assignments({ data }: { data: RoleData }) {
  const { role = {}, userRoleAssignments = [], groupRoleAssignments = [] } = data;
  const { data: users } = useUsers();
  const { data: groups } = useGroups();
  const { data: workspaces } = useWorkspaces();
  const rows: Assignment[] = [
    ...groupRoleAssignments.map(({ groupId = 0, roleAssignment }) => {
      const found = groups?.find(({ group }) => group?.groupId === groupId);
      return {
        holder: `group ${found?.group?.name ?? groupId}`,
        to: paths.group(groupId),
        workspaceId: roleAssignment?.scopeWorkspaceId || undefined,
      };
    }),
    ...userRoleAssignments.map(({ userId = 0, roleAssignment }) => ({
      holder: users?.find((user) => user.id === userId)?.username ?? String(userId),
      to: paths.user(userId),
      workspaceId: roleAssignment?.scopeWorkspaceId || undefined,
    })),
  ];
  const getScopeName = ({ workspaceId }: Assignment) =>
    workspaceId ? workspaceName(workspaces, workspaceId) : "the cluster";
  const columns: ListColumn<Assignment>[] = [
    {
      head: "User or group",
      cell: ({ holder, to }) => <Link to={to}>{holder}</Link>,
      sortBy: ({ holder }) => holder,
    },
    {
      head: "Scope",
      cell: (row) =>
        row.workspaceId ? (
          <Link to={paths.workspace(row.workspaceId, "members")}>{getScopeName(row)}</Link>
        ) : (
          "the cluster"
        ),
      sortBy: getScopeName,
    },
  ];
  const name = role.name ?? "";
  return (
    <Section title="Assigned to">
      <ListTable<Assignment>
        label={`Assignments of ${name}`}
        columns={columns}
        rows={rows}
        getId={({ to, workspaceId = 0 }) => `${to} ${workspaceId}`}
        isShort
      >
        <EmptyState command={`det rbac assign-role ${quote(name)} -u USER`}>
          Not assigned to any user or group.
        </EmptyState>
      </ListTable>
    </Section>
  );
}
