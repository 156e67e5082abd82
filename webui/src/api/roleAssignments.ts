import { api } from "./client";

/** A role of a user in a workspace, or in the cluster if there is no workspace. */
export interface AssignedRole {
  userId: number;
  role: string;
  workspaceId?: number | undefined;
}

const toRequestBody = ({ userId, role, workspaceId }: AssignedRole) => {
  const scope = workspaceId ? { scopeWorkspaceId: workspaceId } : { scopeCluster: true };
  return { userRoleAssignments: [{ userId, roleAssignment: { role: { name: role }, ...scope } }] };
};

export const assignRole = (held: AssignedRole) =>
  api.POST("/api/v1/roles/add-assignments", { body: toRequestBody(held) });

export const removeRole = (held: AssignedRole) =>
  api.POST("/api/v1/roles/remove-assignments", { body: toRequestBody(held) });

/** Replaces a role by another one; does nothing if they are equal. */
export async function replaceRole(held: AssignedRole, role: string | undefined) {
  if (role === undefined || role === held.role) return;
  // Assign first: the user keeps a role if the second call fails.
  await assignRole({ ...held, role });
  await removeRole(held);
}
