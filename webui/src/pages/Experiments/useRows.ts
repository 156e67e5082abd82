import { useCallback, useEffect, useRef } from "react";
import {
  queryOptions,
  skipToken,
  useQueries,
  useQuery,
  type QueryFunctionContext,
} from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { nearbyPages, type Direction } from "./nearbyPages";
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

// As many as a filter has conditions at max, so that the best runs of a page are found by one.
export const PAGE = 100;

async function readExperimentsAlone(body: object, signal?: AbortSignal): Promise<Page> {
  const { experiments = [], pagination } = await unwrap(
    api.POST("/api/v1/experiments-search", { body, ...(signal && { signal }) }),
  );
  const rows = experiments.map(({ experiment, bestTrial }): Row => {
    return {
      kind: "experiments",
      id: experiment?.id ?? 0,
      experiment: experiment ?? {},
      bestTrial,
    };
  });
  return { rows, total: pagination?.total ?? 0 };
}

async function readExperiments(
  body: object,
  needsRuns: boolean,
  signal: AbortSignal,
): Promise<Page> {
  const { rows, total } = await readExperimentsAlone(body, signal);
  const best = rows.map((row) => row.bestTrial?.id ?? 0).filter((id) => id > 0);
  if (needsRuns && best.length > 0) {
    const byId = new Map((await readRunsById(best, signal)).map((run) => [run.id, run]));
    for (const row of rows) row.run = byId.get(row.bestTrial?.id);
  }
  return { rows, total };
}

async function readRunsById(ids: number[], signal: AbortSignal) {
  const children = ids.map((value) => ({ kind: "field", columnName: "id", operator: "=", value }));
  const filterGroup = { kind: "group", conjunction: "or", children };
  const filter = JSON.stringify({ showArchived: true, filterGroup });
  const { runs = [] } = await unwrap(
    api.POST("/api/v1/runs", { body: { filter, limit: ids.length }, signal }),
  );
  return runs;
}

async function readRuns(body: object, signal?: AbortSignal): Promise<Page> {
  const { runs = [], pagination } = await unwrap(
    api.POST("/api/v1/runs", { body, ...(signal && { signal }) }),
  );
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

// Of what is read to be selected and not to be shown: fewer calls.
const PORTION = 500;

/** All rows of a search, by their ids. */
export async function readAll({ kind, projectId, filter }: Search): Promise<Map<number, Row>> {
  const all = new Map<number, Row>();
  for (let offset = 0, total = 1; offset < total; offset += PORTION) {
    // In an order that does not change while they are read.
    const body = {
      filter,
      sort: "id=asc",
      offset,
      limit: PORTION,
      ...(projectId && { projectId }),
    };
    const page = await (kind === "runs" ? readRuns(body) : readExperimentsAlone(body));
    for (const row of page.rows) all.set(row.id, row);
    total = page.total;
  }
  return all;
}

/**
 * A window of a search's rows. Pages are read before they are shown, more of them in the direction in
 * which one scrolls; one that is left behind while it is still read is given up. Until a page is there, the
 * row that stood in its place last is shown: what was read of it before, or before it was sorted otherwise.
 *
 * @param search without it there are no rows.
 * @param needsRuns also reads the best runs of experiments: their metrics and metadata are columns.
 */
export function useRows(search: Search | undefined, needsRuns: boolean, from: number, to: number) {
  const { kind, projectId } = search ?? {};
  const getQueryOptions = useCallback(
    (page: number, isShown: boolean) =>
      queryOptions<Page>({
        queryKey: [...ROWS_KEY, kind, projectId, search, needsRuns, page],
        gcTime: 30_000,
        staleTime: 10_000,
        // What is read ahead is read once; again, as all that is shown, when it comes into sight.
        enabled: (query) => isShown || query.state.status === "pending",
        queryFn: search
          ? ({ signal }: QueryFunctionContext) => readPage(search, needsRuns, page, signal)
          : skipToken,
      }),
    [kind, projectId, search, needsRuns],
  );
  // The first page says how many there are; while another search is read, the last one's stays, unless
  // that was of other things: its rows would be taken for these.
  const first = useQuery({
    // It is read again wherever one is: the number of rows is shown.
    ...getQueryOptions(0, true),
    placeholderData: (last, query) =>
      query?.queryKey[2] === kind && query?.queryKey[3] === projectId ? last : undefined,
  });
  const total = first.data?.total ?? 0;
  const pages = nearbyPages(from, to, total, PAGE, useDirection(from)).filter((page) => page > 0);
  const isIn = (page: number) => page * PAGE < to && (page + 1) * PAGE > from;
  // Who is observed no longer is aborted: that is how requests for what was scrolled past end.
  const others = useQueries({ queries: pages.map((page) => getQueryOptions(page, isIn(page))) });
  const known = usePageCache(`${kind ?? ""} ${projectId ?? ""}`);
  useEffect(() => {
    others.forEach(({ data }, i) => data && known.keep(pages[i] ?? 0, data.rows));
  });
  const rowAt = (index: number): Row | undefined => {
    const page = Math.floor(index / PAGE);
    if (page === 0) return first.data?.rows[index % PAGE];
    const rows = others[pages.indexOf(page)]?.data?.rows ?? known.of(page);
    return index < total ? rows?.[index % PAGE] : undefined;
  };
  const failed = [first, ...others.filter((_, i) => isIn(pages[i] ?? 0))].filter(
    (each) => each.error,
  );
  return {
    total,
    rowAt,
    error: failed[0]?.error ?? null,
    isLoading: first.isLoading,
    refetch: () => failed.forEach((each) => void each.refetch()),
  };
}

function useDirection(from: number): Direction {
  const last = useRef<{ from: number; direction: Direction }>({ from, direction: "none" });
  const before = last.current.from;
  if (from !== before) last.current = { from, direction: from < before ? "up" : "down" };
  return last.current.direction;
}

// Pages of 100 rows that are kept as they were last, some megabytes.
const KEPT = 50;

/** The rows of pages as they were last, those of one `listing` alone. */
function usePageCache(listing: string) {
  const known = useRef({ listing, pages: new Map<number, Row[]>() });
  if (known.current.listing !== listing) known.current = { listing, pages: new Map() };
  const { pages } = known.current;
  return {
    of: (page: number) => pages.get(page),
    keep: (page: number, rows: Row[]) => {
      pages.delete(page);
      pages.set(page, rows);
      for (const oldest of pages.keys()) {
        if (pages.size <= KEPT) break;
        pages.delete(oldest);
      }
    },
  };
}
