import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { Message } from "./types";

/** Where a project is kept, to be read again when it was changed. */
export const projectQueryKey = (id: number) => ["workspaces", "project", id] as const;

/** A project as it is now, past what was read before. */
export async function readProject(id: number, signal?: AbortSignal): Promise<Message["Project"]> {
  const params = { path: { id } };
  const call = api.GET("/api/v1/projects/{id}", { params, ...(signal && { signal }) });
  return (await unwrap(call)).project ?? {};
}

/** A project by its number; without one nothing is read. */
export function useProject(id: number | undefined) {
  return useQuery({
    queryKey: projectQueryKey(id ?? 0),
    enabled: id !== undefined,
    queryFn: ({ signal }) => readProject(id ?? 0, signal),
  });
}
