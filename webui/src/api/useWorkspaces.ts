import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";

export type Workspace = Message["Workspace"];

/**
 * All workspaces that the caller can see; undefined until loaded. Invalidate the key ["workspaces"] to
 * refetch.
 */
export function useWorkspaces(enabled = true) {
  return useQuery({
    queryKey: ["workspaces"],
    enabled,
    queryFn: async ({ signal }) =>
      (await unwrap(api.GET("/api/v1/workspaces", { signal }))).workspaces ?? [],
  });
}

/** The name of a workspace; its ID until the name is known. */
export function workspaceName(workspaces: Workspace[] | undefined, id: number | undefined): string {
  return workspaces?.find((each) => each.id === id)?.name ?? (id ? String(id) : "");
}
