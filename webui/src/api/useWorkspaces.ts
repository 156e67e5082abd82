import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";

export type Workspace = Message["Workspace"];

/** All workspaces that the caller sees; undefined until they are known. Read again under the key ["workspaces"]. */
export function useWorkspaces(enabled = true) {
  return useQuery({
    queryKey: ["workspaces"],
    enabled,
    queryFn: async ({ signal }) =>
      (await unwrap(api.GET("/api/v1/workspaces", { signal }))).workspaces ?? [],
  });
}

/** The name of a workspace; its number until that is known. */
export function workspaceName(workspaces: Workspace[] | undefined, id: number | undefined): string {
  return workspaces?.find((each) => each.id === id)?.name ?? (id ? String(id) : "");
}
