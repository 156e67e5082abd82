import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { readMessages } from "@/api/messages";
import { logPath, readFilters, type LogFilters, type LogRange } from "./filters";
import type { LogLine } from "./window";

/** So many lines are read at a time. */
export const PORTION = 500;

// What was read ahead is taken by the page that it was read for, or forgotten; lines that came since follow.
const FRESH = 5000; // ms

/** A portion of a log, as the master says it: the newest first where that was asked for. */
export function portionQuery(trialId: number, filters: LogFilters, place: LogRange) {
  const path = logPath(trialId, filters, place);
  return queryOptions({
    queryKey: ["log", path],
    staleTime: FRESH,
    gcTime: FRESH,
    queryFn: ({ signal }) => readMessages<LogLine>(path, signal),
  });
}

/** The end of a log. */
export const END: LogRange = { limit: PORTION, isDescending: true };

/** What lies before a line, and the line with what lies after it. It may be one that the filters leave out. */
export const rangesAround = (id: string): [LogRange, LogRange] => [
  { beforeId: id, limit: PORTION, isDescending: true },
  { afterId: String(Number(id) - 1), limit: PORTION },
];

/** Asks for what a log at this address shows first. What fails is asked for again by the page, which says so. */
export function prefetchLog(client: QueryClient, trialId: number, params: URLSearchParams) {
  const line = params.get("line");
  for (const place of line ? rangesAround(line) : [END]) {
    client.query(portionQuery(trialId, readFilters(params), place)).catch(() => undefined);
  }
}
