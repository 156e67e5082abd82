import { api } from "./client";

/** A role that a user holds; without a workspace: for the cluster. */
export interface HeldRole {
  userId: number;
  role: string;
  workspaceId?: number | undefined;
}

const bodyOf = ({ userId, role, workspaceId }: HeldRole) => {
  const scope = workspaceId ? { scopeWorkspaceId: workspaceId } : { scopeCluster: true };
  return { userRoleAssignments: [{ userId, roleAssignment: { role: { name: role }, ...scope } }] };
};

export const giveRole = (held: HeldRole) =>
  api.POST("/api/v1/roles/add-assignments", { body: bodyOf(held) });

export const takeRole = (held: HeldRole) =>
  api.POST("/api/v1/roles/remove-assignments", { body: bodyOf(held) });

/** Another role in its place; the same one again changes nothing. */
export async function exchangeRole(held: HeldRole, role: string | undefined) {
  if (role === undefined || role === held.role) return;
  // The new one first: nobody is without any if the second call fails.
  await giveRole({ ...held, role });
  await takeRole(held);
}
