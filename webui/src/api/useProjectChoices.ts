import { useQueries } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import { usePermissions } from "./usePermissions";
import { useWorkspaces } from "./useWorkspaces";

/** Projects to choose from, or the reason why there are none. */
export interface ProjectChoices {
  options: (readonly [string, string])[];
  problem?: unknown;
}

/**
 * The projects to which the caller may move experiments, as options of a form: those that the caller can
 * edit, except the project with ID `except`. Undefined until all are known.
 */
export function useProjectChoices(except?: number): ProjectChoices | undefined {
  const { may } = usePermissions();
  const { data: workspaces = [], isSuccess, error } = useWorkspaces();
  const open = workspaces.filter(({ id, archived }) => !archived && may("CREATE_EXPERIMENT", id));
  const lists = useQueries({
    queries: open.map(({ id = 0 }) => ({
      queryKey: ["workspaces", id, "projects"],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const params = { path: { workspace_id: id } };
        const call = api.GET("/api/v1/workspaces/{workspace_id}/projects", { params, signal });
        return (await unwrap(call)).projects ?? [];
      },
    })),
  });
  const problem = error ?? lists.find((each) => each.error)?.error;
  if (problem) return { options: [], problem };
  if (!isSuccess || lists.some(({ data }) => data === undefined)) return undefined;
  const options = lists.flatMap(({ data = [] }, i) =>
    data
      .filter(({ id, archived }) => id !== except && !archived)
      .map(({ id = 0, name = "" }) => [String(id), `${open[i]?.name ?? ""} / ${name}`] as const),
  );
  return options.length > 0 ? { options } : { options, problem: explainNoProjects(open.length) };
}

const explainNoProjects = (workspaces: number) =>
  workspaces === 0
    ? "You cannot edit any workspace that is not archived. Unarchive one or ask an administrator for a role."
    : "There is no other project in the workspaces that you can edit. Create or unarchive one.";
