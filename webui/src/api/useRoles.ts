import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";

/** From the least; each may what the one before it may. */
export const ROLES = ["Viewer", "Editor", "WorkspaceAdmin", "ClusterAdmin"] as const;
export type RoleName = (typeof ROLES)[number];

/** What the caller may, by docs/api.md. The master decides; a page asks to offer no more. */
export interface Roles {
  /** In a workspace; without one: for the cluster. */
  may: (role: RoleName, workspaceId?: number) => boolean;
  /** In some workspace or other. */
  mayAnywhere: (role: RoleName) => boolean;
}

/** A workspace as the things in it name it. */
interface WorkspaceRef {
  workspaceId?: number;
  workspaceName?: string;
}

/** Why the caller may not, in words for a button; false: they may. Without a place: in any workspace. */
export function explainRefusal({ may, mayAnywhere }: Roles, role: RoleName, place?: WorkspaceRef) {
  if (place === undefined)
    return !mayAnywhere(role) && `Requires the ${role} role in a workspace; ask a cluster admin`;
  return (
    !may(role, place.workspaceId) &&
    `Requires the ${role} role in workspace ${place.workspaceName ?? ""}; ask a workspace admin`
  );
}

/** What the answer about the caller's permissions says. */
export function parseRoles({
  roles,
  assignments,
}: Message["GetPermissionsSummaryResponse"]): Roles {
  const held = (assignments ?? []).map(({ roleId, scopeCluster, scopeWorkspaceIds }) => ({
    rank: ROLES.indexOf(roles?.find((each) => each.roleId === roleId)?.name as RoleName),
    scopeCluster,
    scopeWorkspaceIds,
  }));
  return {
    may: (role, workspaceId) =>
      held.some(
        ({ rank, scopeCluster, scopeWorkspaceIds }) =>
          rank >= ROLES.indexOf(role) &&
          (scopeCluster || (workspaceId !== undefined && scopeWorkspaceIds?.includes(workspaceId))),
      ),
    mayAnywhere: (role) => held.some(({ rank }) => rank >= ROLES.indexOf(role)),
  };
}

const nothing: Roles = { may: () => false, mayAnywhere: () => false };

/** The caller's roles; nothing is allowed until they are known. Read again under the key ["roles"]. */
export function useRoles(): Roles {
  const { data } = useQuery({
    queryKey: ["roles"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/permissions/summary", { signal })),
    select: parseRoles,
    staleTime: Infinity,
  });
  return data ?? nothing;
}
