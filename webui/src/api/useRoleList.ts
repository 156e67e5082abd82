import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";
import { toPermissionName, type Permissions } from "./usePermissions";

export type Role = Message["Role"];

/** All roles, by name. Invalidate the key ["roles"] to refetch. */
export function useRoleList(enabled = true) {
  return useQuery({
    queryKey: ["roles", "list"],
    enabled,
    queryFn: async ({ signal }) =>
      (await unwrap(api.POST("/api/v1/roles/search", { body: {}, signal }))).roles ?? [],
  });
}

/** Whether administrators created the role; built-in roles cannot be changed. */
export const isCreated = ({ roleId = 0 }: Role) => roleId >= 100;

/** Whether the caller may assign and remove roles in a workspace, or in the cluster without one. */
export const mayAssign = ({ may }: Permissions, workspaceId: number | undefined) =>
  workspaceId ? may("ASSIGN_ROLES", workspaceId) : may("ADMINISTRATE_USER");

/**
 * The roles that the caller may assign in a workspace, or in the cluster without one: nobody can assign
 * permissions that they lack.
 */
export function getAssignable(
  roles: readonly Role[],
  permissions: Permissions,
  workspaceId: number | undefined,
): Role[] {
  if (!mayAssign(permissions, workspaceId)) return [];
  return roles.filter(
    (role) =>
      (!workspaceId || role.scopeTypeMask?.workspace) &&
      role.permissions?.every(({ id }) => permissions.may(toPermissionName(id), workspaceId)),
  );
}

/** The options of a form's choice of a role. */
export const toRoleOptions = (roles: readonly Role[]) =>
  roles.map(({ roleId = 0, name = "" }) => [String(roleId), name] as const);
