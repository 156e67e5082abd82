import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";

/** In ascending order; each role includes the permissions of those before it. */
export const ROLES = ["Viewer", "Editor", "WorkspaceAdmin", "ClusterAdmin"] as const;
export type RoleName = (typeof ROLES)[number];

/**
 * The caller's permissions (docs/api.md). The master decides; pages only avoid offering what it
 * would refuse.
 */
export interface Roles {
  /** Whether the caller has the role in a workspace, or in the cluster if no workspace is given. */
  may: (role: RoleName, workspaceId?: number) => boolean;
  /** Whether the caller has the role in any workspace. */
  mayAnywhere: (role: RoleName) => boolean;
}

/** A workspace as objects in it refer to it. */
interface WorkspaceRef {
  workspaceId?: number;
  workspaceName?: string;
}

/**
 * Why the caller lacks a role, as a button's tooltip; false if the caller has it. Without a
 * workspace: in any workspace.
 */
export function explainRefusal(
  { may, mayAnywhere }: Roles,
  role: RoleName,
  workspace?: WorkspaceRef,
) {
  if (workspace === undefined)
    return !mayAnywhere(role) && `Requires the ${role} role in a workspace; ask a cluster admin`;
  return (
    !may(role, workspace.workspaceId) &&
    `Requires the ${role} role in workspace ${workspace.workspaceName ?? ""}; ask a workspace admin`
  );
}

/** Converts the response about the caller's permissions. */
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

/** The caller's roles; nothing is allowed until they are loaded. Invalidate the key ["roles"] to refetch. */
export function useRoles(): Roles {
  const { data } = useQuery({
    queryKey: ["roles"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/permissions/summary", { signal })),
    select: parseRoles,
    staleTime: Infinity,
  });
  return data ?? nothing;
}
