import { useQueries } from "@tanstack/react-query";
import { api, dataOf } from "./client";
import { useRoles } from "./useRoles";
import { useWorkspaces } from "./useWorkspaces";

/**
 * The projects that the caller may move experiments to, as choices of a form: those in which they are an
 * Editor, but for the one of the number `except`. Undefined until all are known.
 */
export function useProjectChoices(except?: number): (readonly [string, string])[] | undefined {
  const { may } = useRoles();
  const { data: workspaces = [] } = useWorkspaces();
  const open = workspaces.filter(({ id, archived }) => !archived && may("Editor", id));
  const lists = useQueries({
    queries: open.map(({ id = 0 }) => ({
      queryKey: ["workspaces", id, "projects"],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const params = { path: { workspace_id: id } };
        const call = api.GET("/api/v1/workspaces/{workspace_id}/projects", { params, signal });
        return (await dataOf(call)).projects ?? [];
      },
    })),
  });
  if (open.length === 0 || lists.some(({ data }) => data === undefined)) return undefined;
  return lists.flatMap(({ data = [] }, i) =>
    data
      .filter(({ id, archived }) => id !== except && !archived)
      .map(({ id = 0, name = "" }) => [String(id), `${open[i]?.name ?? ""} / ${name}`] as const),
  );
}
