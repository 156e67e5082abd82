import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { toNumber } from "@/charts/format";
import type { Message } from "@/api/types";
import type { FilterColumn } from "@/components/table/filter";
import type { Kind } from "./rows";
import { renameColumn } from "./words";

/** A column and its origin. */
export interface Column extends FilterColumn {
  location: NonNullable<Message["ProjectColumn"]["location"]>;
}

async function projectIds(signal: AbortSignal): Promise<number[]> {
  const { projects = [] } = await unwrap(
    api.GET("/api/v1/workspaces/{workspace_id}/projects", {
      params: { path: { workspace_id: 0 } },
      signal,
    }),
  );
  return projects.slice(0, MAX_PROJECTS).map((project) => project.id ?? 0);
}

// With more projects, select one to see its columns.
const MAX_PROJECTS = 20;

async function readColumns(kind: Kind, id: number, signal: AbortSignal): Promise<Column[]> {
  const tableType = kind === "runs" ? "TABLE_TYPE_RUN" : "TABLE_TYPE_EXPERIMENT";
  const params = { path: { id }, query: { tableType } } as const;
  const { columns = [] } = await unwrap(
    api.GET("/api/v1/projects/{id}/columns", { params, signal }),
  );
  return columns.map((column): Column =>
    renameColumn({
      column: column.column ?? "",
      type: column.type ?? "COLUMN_TYPE_UNSPECIFIED",
      displayName: column.displayName ?? "",
      location: column.location ?? "LOCATION_TYPE_UNSPECIFIED",
    }),
  );
}

/** The columns of a project's rows, or of all visible projects. */
export function useColumns(kind: Kind, projectId: number | undefined) {
  return useQuery({
    queryKey: ["experiments", "columns", kind, projectId],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const ids = projectId ? [projectId] : await projectIds(signal);
      const lists = await Promise.all(ids.map((id) => readColumns(kind, id, signal)));
      const merged = new Map<string, Column>();
      for (const column of lists.flat())
        if (!merged.has(column.column)) merged.set(column.column, column);
      return [...merged.values()];
    },
  });
}

/** The smallest and the largest value of a metric. */
export type MetricRange = readonly [number, number];

/**
 * The ranges of the metrics by "group.name". The master reads all trials for them, so they are only requested
 * when a column is coloured.
 */
export function useMetricRanges(projectId: number | undefined, isWanted: boolean) {
  return useQuery({
    queryKey: ["experiments", "ends", projectId],
    enabled: isWanted,
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const ids = projectId ? [projectId] : await projectIds(signal);
      const ends = new Map<string, MetricRange>();
      for (const id of ids) {
        const { ranges = [] } = await unwrap(
          api.GET("/api/v1/projects/{id}/experiments/metric-ranges", {
            params: { path: { id } },
            signal,
          }),
        );
        for (const { metricsName = "", min = 0, max = 0 } of ranges) {
          const [low, high] = ends.get(metricsName) ?? [Infinity, -Infinity];
          ends.set(metricsName, [Math.min(low, toNumber(min)), Math.max(high, toNumber(max))]);
        }
      }
      return ends;
    },
  });
}
