import { api } from "./client";

/** A role that a user holds; without a workspace: for the cluster. */
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

/** Another role in its place; the same one again changes nothing. */
export async function replaceRole(held: AssignedRole, role: string | undefined) {
  if (role === undefined || role === held.role) return;
  // The new one first: nobody is without any if the second call fails.
  await assignRole({ ...held, role });
  await removeRole(held);
}
