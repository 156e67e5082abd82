import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import type { Message, User } from "@/api/types";
import { useGroups, type GroupRow } from "@/api/useGroups";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { RoleList, type HeldRole } from "@/components/RoleList/RoleList";

/** Converts the response to a list of roles; first the user's own, then those through groups. */
export function parseHeldRoles(
  { roles = [] }: Message["GetRolesAssignedToUserResponse"],
  groups: readonly GroupRow[] = [],
): HeldRole[] {
  const nameOf = (groupId: number) =>
    groups.find(({ group }) => group?.groupId === groupId)?.group?.name ?? String(groupId);
  const toHeld = (role: Message["Role"] | undefined, assignment?: Message["RoleAssignment"]) => ({
    role: role?.name ?? "",
    roleId: role?.roleId ?? 0,
    workspaceId: assignment?.scopeWorkspaceId || undefined,
  });
  const own = roles.flatMap(({ role, userRoleAssignments = [] }) =>
    userRoleAssignments.map(({ roleAssignment }) => toHeld(role, roleAssignment)),
  );
  const ofGroups = roles.flatMap(({ role, groupRoleAssignments = [] }) =>
    groupRoleAssignments.map(({ groupId = 0, roleAssignment }) => ({
      ...toHeld(role, roleAssignment),
      through: { groupId, name: nameOf(groupId) },
    })),
  );
  return [...own, ...ofGroups];
}

/** The roles of a user. */
export function UserRoles({ user: { id = 0, username = "", admin } }: { user: User }) {
  const { data: groups } = useGroups(id);
  const queryKey = ["users", id, "roles"];
  const read = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/roles/search/by-user/{user_id}", {
          params: { path: { user_id: id } },
          signal,
        }),
      ),
  });
  if (read.error) return <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />;
  const roles = read.data && parseHeldRoles(read.data, groups);
  return (
    <RoleList
      holder={{ userId: id }}
      name={username}
      queryKey={queryKey}
      roles={roles?.map((held) =>
        admin && held.role === "ClusterAdmin" && !held.workspaceId
          ? { ...held, fixed: "This role belongs to cluster admins; use Remove admin" }
          : held,
      )}
    />
  );
}
