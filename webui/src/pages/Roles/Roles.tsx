import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import { usePermissions } from "@/api/usePermissions";
import { isCreated, useRoleList, type Role } from "@/api/useRoleList";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { Count, hasText, SearchBox } from "@/components/Page/Filters";
import { Page } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { NoRoles } from "@/components/RoleList/NoRoles";
import { RoleForm } from "@/components/RoleList/RoleForm";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";
import { formatCount } from "@/text";

const getOrigin = (role: Role) => (isCreated(role) ? "created" : "built in");
const getScope = ({ scopeTypeMask }: Role) =>
  scopeTypeMask?.workspace ? "cluster or workspace" : "cluster only";

const columns: ListColumn<Role>[] = [
  {
    head: "Role",
    share: 2,
    minWidth: 200,
    cell: ({ roleId = 0, name }) => <Link to={paths.role(roleId)}>{name}</Link>,
    sortBy: ({ name }) => name,
  },
  { head: "Assignable in", minWidth: 160, cell: getScope, sortBy: getScope },
  {
    head: "Permissions",
    isNumber: true,
    cell: ({ permissions = [] }) => permissions.length,
    sortBy: ({ permissions = [] }) => permissions.length,
  },
  { head: "Origin", cell: getOrigin, sortBy: getOrigin },
];

/** The roles: built-in ones, and those that administrators created. */
export default function Roles() {
  const { may, isBasic } = usePermissions();
  const [query] = useParam("q");
  const [from, setFrom] = useParam("from");
  const [dialog, setDialog] = useDialog();
  const client = useQueryClient();
  const { data, error, refetch } = useRoleList();
  if (isBasic)
    return (
      <Page title="Roles">
        <NoRoles />
      </Page>
    );
  const shown = data?.filter(({ name }) => hasText(query, name));
  const origin = data?.find(({ roleId }) => roleId === Number(from));
  const close = () => {
    setDialog("");
    setFrom("");
  };
  return (
    <Page
      title="Roles"
      error={error}
      onRetry={() => void refetch()}
      head={
        <>
          <SearchBox label="Search roles" />
          <Count>{shown && formatCount(shown.length, "role")}</Count>
          {may("UPDATE_ROLES") && (
            <Actions
              actions={[{ label: "New role", isPrimary: true, run: () => setDialog("create") }]}
            />
          )}
        </>
      }
    >
      <ListTable<Role>
        label="Roles"
        columns={columns}
        rows={shown}
        getId={({ roleId = 0 }) => roleId}
      >
        <EmptyState>No roles match the search.</EmptyState>
      </ListTable>
      {dialog === "create" && may("UPDATE_ROLES") && data && (
        <RoleForm
          title={origin ? `New role from ${origin.name ?? ""}` : "New role"}
          verb="Create"
          permissions={origin?.permissions}
          onClose={close}
          onSubmit={async (role) => {
            const created = await unwrap(api.POST("/api/v1/roles", { body: role }));
            await client.invalidateQueries({ queryKey: ["roles"] });
            return paths.role(created.role?.roleId ?? 0);
          }}
        />
      )}
    </Page>
  );
}
