import { api } from "./client";

/** A user or a group, which may have roles. */
export type RoleHolder = { userId: number } | { groupId: number };

/** A role in a workspace, or in the cluster if there is no workspace. */
export interface RoleInScope {
  roleId: number;
  workspaceId?: number | undefined;
}

function toRequestBody(holder: RoleHolder, { roleId, workspaceId }: RoleInScope) {
  const scope = workspaceId ? { scopeWorkspaceId: workspaceId } : { scopeCluster: true };
  const roleAssignment = { role: { roleId }, ...scope };
  return "userId" in holder
    ? { userRoleAssignments: [{ userId: holder.userId, roleAssignment }] }
    : { groupRoleAssignments: [{ groupId: holder.groupId, roleAssignment }] };
}

export const assignRole = (holder: RoleHolder, role: RoleInScope) =>
  api.POST("/api/v1/roles/add-assignments", { body: toRequestBody(holder, role) });

export const removeRole = (holder: RoleHolder, role: RoleInScope) =>
  api.POST("/api/v1/roles/remove-assignments", { body: toRequestBody(holder, role) });

/** Replaces a role by another one; does nothing if they are equal. */
export async function replaceRole(holder: RoleHolder, held: RoleInScope, roleId: number) {
  if (roleId === held.roleId) return;
  // Assign first: the holder keeps a role if the second call fails.
  await assignRole(holder, { ...held, roleId });
  await removeRole(holder, held);
}
