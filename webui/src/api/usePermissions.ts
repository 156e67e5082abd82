import { useMemo } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";
import { useMaster } from "./useMaster";
import { useMe } from "./useMe";

/** The API's permissions without their prefix: "CREATE_EXPERIMENT". */
export type PermissionName = Message["PermissionType"] extends `PERMISSION_TYPE_${infer Name}`
  ? Name
  : never;

/**
 * The caller's permissions (docs/api.md). The master decides; pages only avoid offering what it
 * would refuse.
 */
export interface Permissions {
  /**
   * Whether the caller has the permission in a workspace, or in the cluster if no workspace is given. Some
   * permissions hold for the caller's own objects only: pass the ID of their owner.
   */
  may: (permission: PermissionName, workspaceId?: number, ownerId?: number) => boolean;
  /** Whether the caller has the permission in any workspace. */
  mayAnywhere: (permission: PermissionName) => boolean;
  /** Whether ownership decides instead of roles (`security.authz.type: basic`). */
  isBasic: boolean;
}

/** An object's workspace and owner. */
interface Scope {
  workspaceId?: number | undefined;
  workspaceName?: string | undefined;
  ownerId?: number | undefined;
}

/**
 * Why the caller lacks a permission, as a button's tooltip; false if the caller has it. Without a
 * scope: in any workspace.
 */
export function explainRefusal(
  { may, mayAnywhere, isBasic }: Permissions,
  permission: PermissionName,
  scope?: Scope,
): string | false {
  const isHeld = scope
    ? may(permission, scope.workspaceId, scope.ownerId)
    : mayAnywhere(permission);
  if (isHeld) return false;
  if (isBasic) return "Only owners and administrators can do this";
  const where = scope ? `workspace ${scope.workspaceName ?? ""}` : "a workspace";
  return `Requires the permission "${toWords(permission)}" in ${where}; ask a workspace admin`;
}

/** Why the caller lacks a permission of the cluster; false if the caller has it. */
export function explainClusterRefusal(
  { may }: Permissions,
  permission: PermissionName,
): string | false {
  return (
    !may(permission) && `Requires the permission "${toWords(permission)}"; ask a cluster admin`
  );
}

/** The name of a permission of the API. */
export const toPermissionName = (id: Message["PermissionType"] | undefined) =>
  (id ?? "").replace("PERMISSION_TYPE_", "") as PermissionName;

/** "UPDATE_EXPERIMENT" becomes "update experiment". */
const toWords = (permission: PermissionName) => permission.toLowerCase().replaceAll("_", " ");

/** Permissions in one scope. */
interface Held {
  permissions: ReadonlySet<PermissionName>;
  /** Those that hold only for the caller's own objects. */
  own: ReadonlySet<PermissionName>;
  scopeCluster: boolean;
  scopeWorkspaceIds: readonly number[];
}

const CLUSTER_ADMIN = 1;
const WORKSPACE_ADMIN = 2;
const EDITOR = 5;

// The API does not list permissions of the cluster for roles that can be assigned in a workspace.
const UNLISTED: readonly PermissionName[] = [
  "CREATE_WORKSPACE",
  "CREATE_TOKEN",
  "UPDATE_TOKEN",
  "VIEW_TOKEN",
];

// In the mode without roles, every user is an Editor of the cluster and a WorkspaceAdmin of own workspaces, with
// these differences (master/auth/user_roles.cc).
const ONLY_FOR_OWNERS: readonly PermissionName[] = [
  "DELETE_EXPERIMENT",
  "UPDATE_PROJECT",
  "DELETE_PROJECT",
  "DELETE_OTHER_USER_MODEL_REGISTRY",
  "DELETE_OTHER_USER_MODEL_VERSION",
];
const ONLY_FOR_ADMINS: readonly PermissionName[] = ["CREATE_TOKEN", "UPDATE_TOKEN", "ASSIGN_ROLES"];
const OF_WORKSPACE_OWNERS: readonly PermissionName[] = ["UPDATE_PROJECT", "DELETE_PROJECT"];

function readPermissions(role: Message["Role"], isBasic: boolean) {
  const permissions = new Set(role.permissions?.map(({ id }) => toPermissionName(id)));
  const own = new Set<PermissionName>();
  if (role.roleId === EDITOR || role.roleId === WORKSPACE_ADMIN)
    UNLISTED.forEach((each) => permissions.add(each));
  if (permissions.has("DELETE_MODEL_REGISTRY")) own.add("DELETE_OTHER_USER_MODEL_REGISTRY");
  if (permissions.has("DELETE_MODEL_VERSION")) own.add("DELETE_OTHER_USER_MODEL_VERSION");
  if (isBasic && role.roleId !== CLUSTER_ADMIN) {
    const isOwner = role.roleId === WORKSPACE_ADMIN;
    permissions.add("CREATE_PROJECT");
    ONLY_FOR_ADMINS.forEach((each) => permissions.delete(each));
    for (const each of ONLY_FOR_OWNERS) {
      own.add(each);
      if (!isOwner || !OF_WORKSPACE_OWNERS.includes(each)) permissions.delete(each);
    }
  }
  return { permissions, own };
}

/** Converts the response about the caller's permissions. */
export function parsePermissions(
  { roles = [], assignments = [] }: Message["GetPermissionsSummaryResponse"],
  isBasic: boolean,
  me: number | undefined,
): Permissions {
  const held = assignments.map(({ roleId, scopeCluster, scopeWorkspaceIds }): Held => ({
    ...readPermissions(roles.find((each) => each.roleId === roleId) ?? {}, isBasic),
    scopeCluster: scopeCluster ?? false,
    scopeWorkspaceIds: scopeWorkspaceIds ?? [],
  }));
  return {
    isBasic,
    may: (permission, workspaceId, ownerId) =>
      held.some(
        ({ permissions, own, scopeCluster, scopeWorkspaceIds }) =>
          (permissions.has(permission) ||
            (ownerId !== undefined && ownerId === me && own.has(permission))) &&
          (scopeCluster || (workspaceId !== undefined && scopeWorkspaceIds.includes(workspaceId))),
      ),
    mayAnywhere: (permission) =>
      held.some(({ permissions, own }) => permissions.has(permission) || own.has(permission)),
  };
}

const nothing = (isBasic: boolean): Permissions => ({
  isBasic,
  may: () => false,
  mayAnywhere: () => false,
});

/** The caller's permissions; nothing is allowed until they are loaded. Invalidate the key ["roles"] to refetch. */
export function usePermissions(): Permissions {
  const isBasic = useMaster()?.rbacEnabled === false;
  const me = useMe()?.id;
  const { data } = useQuery({
    queryKey: ["roles", "mine"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/permissions/summary", { signal })),
    staleTime: Infinity,
  });
  return useMemo(
    () => (data ? parsePermissions(data, isBasic, me) : nothing(isBasic)),
    [data, isBasic, me],
  );
}
