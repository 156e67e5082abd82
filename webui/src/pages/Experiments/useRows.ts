import { useCallback, useEffect, useState } from "react";
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

/** A search, as in the API. */
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

/** The prefix of the query keys of rows. */
export const ROWS_KEY = ["experiments", "rows"] as const;

// The maximum number of conditions in a filter, so that one call reads the best trials of a page.
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

// A larger page for rows that are only selected.
const PORTION = 500;

/** Reads all rows of a search, by ID. */
export async function readAll({ kind, projectId, filter }: Search): Promise<Map<number, Row>> {
  const all = new Map<number, Row>();
  for (let offset = 0, total = 1; offset < total; offset += PORTION) {
    // Use a stable order while reading page by page.
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
 * A window of a search's rows. Pages are prefetched in the direction of scrolling; requests for pages that
 * were scrolled past are aborted. Until a page is loaded, the last known row at its position is shown.
 *
 * @param search without a search there are no rows.
 * @param needsRuns also reads the best trials of experiments, for metric and metadata columns.
 */
export function useRows(search: Search | undefined, needsRuns: boolean, from: number, to: number) {
  const { kind, projectId } = search ?? {};
  const getQueryOptions = useCallback(
    (page: number, isShown: boolean) =>
      queryOptions<Page>({
        queryKey: [...ROWS_KEY, kind, projectId, search, needsRuns, page],
        gcTime: 30_000,
        staleTime: 10_000,
        // Prefetched pages are read once, and refetched when they become visible.
        enabled: (query) => isShown || query.state.status === "pending",
        queryFn: search
          ? ({ signal }: QueryFunctionContext) => readPage(search, needsRuns, page, signal)
          : skipToken,
      }),
    [kind, projectId, search, needsRuns],
  );
  // The first page has the total. While another search loads, the previous one's stays, unless it listed
  // other objects.
  const first = useQuery({
    // It is always refetched: the total is shown.
    ...getQueryOptions(0, true),
    placeholderData: (last, query) =>
      query?.queryKey[2] === kind && query?.queryKey[3] === projectId ? last : undefined,
  });
  const total = first.data?.total ?? 0;
  const pages = nearbyPages(from, to, total, PAGE, useDirection(from)).filter((page) => page > 0);
  const isIn = (page: number) => page * PAGE < to && (page + 1) * PAGE > from;
  // Queries without an observer are aborted.
  const others = useQueries({ queries: pages.map((page) => getQueryOptions(page, isIn(page))) });
  const loaded = others.flatMap(({ data }, i) =>
    data ? [[pages[i] ?? 0, data.rows] as const] : [],
  );
  const cache = usePageCache(`${kind ?? ""} ${projectId ?? ""}`, loaded);
  const rowAt = (index: number): Row | undefined => {
    const page = Math.floor(index / PAGE);
    if (page === 0) return first.data?.rows[index % PAGE];
    const rows = others[pages.indexOf(page)]?.data?.rows ?? cache.get(page);
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
    // Whether the rows and the total are those of the previous search, while this one is loading.
    isPrevious: first.isPlaceholderData,
    refetch: () => failed.forEach((each) => void each.refetch()),
  };
}

function useDirection(from: number): Direction {
  const [last, setLast] = useState<{ from: number; direction: Direction }>({
    from,
    direction: "none",
  });
  if (from === last.from) return last.direction;
  const direction = from < last.from ? "up" : "down";
  setLast({ from, direction });
  return direction;
}

type Pages = ReadonlyMap<number, Row[]>;

// The number of pages in the cache, some megabytes.
const MAX_CACHED_PAGES = 50;
const NO_PAGES: Pages = new Map();

/** The last known rows of the pages of one `listing`, including the `loaded` ones of earlier renders. */
function usePageCache(listing: string, loaded: (readonly [number, Row[]])[]): Pages {
  const [cache, setCache] = useState({ listing, pages: NO_PAGES });
  const pages = cache.listing === listing ? cache.pages : NO_PAGES;
  useEffect(() => {
    if (loaded.every(([page, rows]) => pages.get(page) === rows)) return;
    setCache({ listing, pages: addPages(pages, loaded) });
  }, [loaded, listing, pages]);
  return pages;
}

/** Adds pages as the newest ones and drops the oldest ones if there are too many. */
function addPages(pages: Pages, added: (readonly [number, Row[]])[]): Pages {
  const all = new Map(pages);
  for (const [page, rows] of added) {
    all.delete(page);
    all.set(page, rows);
  }
  return new Map([...all].slice(-MAX_CACHED_PAGES));
}
