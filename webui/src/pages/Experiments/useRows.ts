import { useCallback, useEffect } from "react";
import {
  queryOptions,
  skipToken,
  useQueries,
  useQuery,
  useQueryClient,
  type QueryFunctionContext,
} from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import type { Kind, Row } from "./rows";

/** A search as the API takes it. */
export interface Search {
  kind: Kind;
  projectId: number | undefined;
  filter: string;
  sort: string;
}

interface Page {
  rows: Row[];
  total: number;
}

/** What the keys of all rows begin with. */
export const ROWS_KEY = ["experiments", "rows"] as const;

// As many as a filter has conditions at most, so that the best runs of a page are found by one.
export const PAGE = 100;

async function readExperiments(
  body: object,
  needsRuns: boolean,
  signal: AbortSignal,
): Promise<Page> {
  const { experiments = [], pagination } = await dataOf(
    api.POST("/api/v1/experiments-search", { body, signal }),
  );
  const rows = experiments.map(({ experiment, bestTrial }): Row => {
    return {
      kind: "experiments",
      id: experiment?.id ?? 0,
      experiment: experiment ?? {},
      bestTrial,
    };
  });
  const best = rows.map((row) => row.bestTrial?.id ?? 0).filter((id) => id > 0);
  if (needsRuns && best.length > 0) {
    const byId = new Map((await readRunsById(best, signal)).map((run) => [run.id, run]));
    for (const row of rows) row.run = byId.get(row.bestTrial?.id);
  }
  return { rows, total: pagination?.total ?? 0 };
}

async function readRunsById(ids: number[], signal: AbortSignal) {
  const children = ids.map((value) => ({ kind: "field", columnName: "id", operator: "=", value }));
  const filterGroup = { kind: "group", conjunction: "or", children };
  const filter = JSON.stringify({ showArchived: true, filterGroup });
  const { runs = [] } = await dataOf(
    api.POST("/api/v1/runs", { body: { filter, limit: ids.length }, signal }),
  );
  return runs;
}

async function readRuns(body: object, signal: AbortSignal): Promise<Page> {
  const { runs = [], pagination } = await dataOf(api.POST("/api/v1/runs", { body, signal }));
  const rows = runs.map((run): Row => ({ kind: "runs", id: run.id ?? 0, run }));
  return { rows, total: pagination?.total ?? 0 };
}

function readPage(search: Search, needsRuns: boolean, page: number, signal: AbortSignal) {
  const { kind, filter, sort, projectId } = search;
  const body = {
    filter,
    offset: page * PAGE,
    limit: PAGE,
    ...(sort && { sort }),
    ...(projectId && { projectId }),
  };
  return kind === "runs" ? readRuns(body, signal) : readExperiments(body, needsRuns, signal);
}

/**
 * A window of a search's rows. Pages are fetched as they come near to what is shown, so that who
 * scrolls finds them there, and forgotten soon after.
 *
 * @param search without it there are no rows.
 * @param needsRuns also reads the best runs of experiments: their metrics and metadata are columns.
 */
export function useRows(search: Search | undefined, needsRuns: boolean, from: number, to: number) {
  const { kind, projectId } = search ?? {};
  const client = useQueryClient();
  const optionsOf = useCallback(
    (page: number) =>
      queryOptions<Page>({
        queryKey: [...ROWS_KEY, kind, projectId, search, needsRuns, page],
        gcTime: 30_000,
        staleTime: 10_000,
        queryFn: search
          ? ({ signal }: QueryFunctionContext) => readPage(search, needsRuns, page, signal)
          : skipToken,
      }),
    [kind, projectId, search, needsRuns],
  );
  // The first page says how many there are; while another search is read, the last one's stays, unless
  // that was of other things: its rows would be taken for these.
  const first = useQuery({
    ...optionsOf(0),
    placeholderData: (last, query) =>
      query?.queryKey[2] === kind && query?.queryKey[3] === projectId ? last : undefined,
  });
  const total = first.data?.total ?? 0;
  const pages: number[] = [];
  const foremost = Math.floor(Math.max(0, from) / PAGE);
  const last = Math.floor(Math.max(0, Math.min(to, total) - 1) / PAGE);
  for (let page = foremost; page <= last; page++) if (page > 0) pages.push(page);
  const others = useQueries({ queries: pages.map(optionsOf) });
  useEffect(() => {
    for (const page of [last + 1, foremost - 1])
      if (page > 0 && page * PAGE < total) client.query(optionsOf(page)).catch(() => undefined);
  }, [client, optionsOf, foremost, last, total]);
  const rowAt = (index: number): Row | undefined => {
    const page = Math.floor(index / PAGE);
    const data = page === 0 ? first.data : others[pages.indexOf(page)]?.data;
    return data?.rows[index % PAGE];
  };
  const error = first.error ?? others.find((each) => each.error)?.error ?? null;
  return { total, rowAt, error, isLoading: first.isLoading, refetch: () => void first.refetch() };
}
