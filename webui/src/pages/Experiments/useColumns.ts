import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import { numberOf } from "@/charts/format";
import type { Message } from "@/api/types";
import type { FilterColumn } from "@/components/table/filter";
import type { Kind } from "./rows";

/** A column that there is, where it comes from, and its values' ends if it is a metric's. */
export interface Column extends FilterColumn {
  location: NonNullable<Message["ProjectColumn"]["location"]>;
  range?: [number, number];
}

async function projectIds(signal: AbortSignal): Promise<number[]> {
  const { projects = [] } = await dataOf(
    api.GET("/api/v1/workspaces/{workspace_id}/projects", {
      params: { path: { workspace_id: 0 } },
      signal,
    }),
  );
  return projects.slice(0, MOST_PROJECTS).map((project) => project.id ?? 0);
}

// Of more, the columns of the rest are found by choosing a project.
const MOST_PROJECTS = 20;

async function readColumns(kind: Kind, id: number, signal: AbortSignal): Promise<Column[]> {
  const path = { id };
  const tableType = kind === "runs" ? "TABLE_TYPE_RUN" : "TABLE_TYPE_EXPERIMENT";
  const [{ columns = [] }, { ranges = [] }] = await Promise.all([
    dataOf(
      api.GET("/api/v1/projects/{id}/columns", { params: { path, query: { tableType } }, signal }),
    ),
    dataOf(
      api.GET("/api/v1/projects/{id}/experiments/metric-ranges", { params: { path }, signal }),
    ),
  ]);
  const byName = new Map(ranges.map((range) => [range.metricsName ?? "", range]));
  return columns.map((column): Column => {
    const name = column.column ?? "";
    const range = byName.get(name.replace(/\.(last|min|max|mean)$/, ""));
    return {
      column: name,
      type: column.type ?? "COLUMN_TYPE_UNSPECIFIED",
      displayName: column.displayName ?? "",
      location: column.location ?? "LOCATION_TYPE_UNSPECIFIED",
      ...(range && { range: [numberOf(range.min ?? 0), numberOf(range.max ?? 0)] }),
    };
  });
}

/** The columns of a project's experiments or runs; without a project, those of all that are visible. */
export function useColumns(kind: Kind, projectId: number | undefined) {
  return useQuery({
    queryKey: ["experiments", "columns", kind, projectId],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const ids = projectId ? [projectId] : await projectIds(signal);
      const lists = await Promise.all(ids.map((id) => readColumns(kind, id, signal)));
      const merged = new Map<string, Column>();
      for (const column of lists.flat()) {
        const known = merged.get(column.column);
        if (known?.range && column.range) {
          known.range = [
            Math.min(known.range[0], column.range[0]),
            Math.max(known.range[1], column.range[1]),
          ];
        }
        if (!known) merged.set(column.column, column);
      }
      return [...merged.values()];
    },
  });
}
