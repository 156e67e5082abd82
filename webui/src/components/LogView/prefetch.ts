import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { readMessages } from "@/api/messages";
import { logPath, readFilters, type LogFilters, type LogRange } from "./filters";
import type { LogLine } from "./window";

/** The number of lines per read. */
export const PORTION = 500;

// Prefetched lines are used by their page or dropped; newer lines follow by the stream.
const FRESH = 5000; // ms

/** A portion of the log at a path, newest first if requested. */
export function portionQuery(log: string, filters: LogFilters, range: LogRange) {
  const path = logPath(log, filters, range);
  return queryOptions({
    queryKey: ["log", path],
    staleTime: FRESH,
    gcTime: FRESH,
    queryFn: ({ signal }) => readMessages<LogLine>(path, signal),
  });
}

/** The range at the end of a log. */
export const END: LogRange = { limit: PORTION, isDescending: true };

/** The ranges before a line and from that line on. Filters may hide the line itself. */
export const rangesAround = (id: string): [LogRange, LogRange] => [
  { beforeId: id, limit: PORTION, isDescending: true },
  { afterId: String(Number(id) - 1), limit: PORTION },
];

/**
 * Prefetches what the log at this address shows first. The page repeats failed requests and shows their
 * errors.
 */
export function prefetchLog(client: QueryClient, path: string, params: URLSearchParams) {
  const line = params.get("line");
  for (const range of line ? rangesAround(line) : [END]) {
    client.query(portionQuery(path, readFilters(params), range)).catch(() => undefined);
  }
}
