import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";

/** The query key of a project. */
export const projectQueryKey = (id: number) => ["workspaces", "project", id] as const;

/** Reads a project, bypassing the cache. */
export async function readProject(id: number, signal?: AbortSignal): Promise<Message["Project"]> {
  const params = { path: { id } };
  const call = api.GET("/api/v1/projects/{id}", { params, ...(signal && { signal }) });
  return (await unwrap(call)).project ?? {};
}

/** A project by its ID; reads nothing without one. */
export function useProject(id: number | undefined) {
  return useQuery({
    queryKey: projectQueryKey(id ?? 0),
    enabled: id !== undefined,
    queryFn: ({ signal }) => readProject(id ?? 0, signal),
  });
}
