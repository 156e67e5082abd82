import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";

/** A group with the number of its members. */
export type GroupRow = Message["GroupSearchResult"];

/**
 * The groups that the caller can see, or those of one user. Invalidate the key ["groups"] to refetch.
 */
export function useGroups(userId?: number, enabled = true) {
  return useQuery({
    queryKey: ["groups", "list", userId],
    enabled,
    queryFn: async ({ signal }) => {
      const body = { limit: -1, ...(userId !== undefined && { userId }) }; // -1: all
      return (await unwrap(api.POST("/api/v1/groups/search", { body, signal }))).groups ?? [];
    },
  });
}
