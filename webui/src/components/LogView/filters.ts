import { buildQuery } from "@/api/messages";

export const LEVELS = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const;

/** The filters of a log; empty fields do not filter. */
export interface LogFilters {
  /** The lowest level, one of LEVELS. */
  level: string;
  rank: string;
  text: string;
  isPattern: boolean;
  /** Start and end of the shown time range, as in the API or a datetime-local field. */
  since: string;
  until: string;
}

/** Reads filters from an address. */
export function readFilters(params: URLSearchParams): LogFilters {
  const level = params.get("level") ?? "";
  return {
    level: (LEVELS as readonly string[]).includes(level) ? level : "",
    rank: /^\d+$/.test(params.get("rank") ?? "") ? (params.get("rank") ?? "") : "",
    text: params.get("text") ?? "",
    isPattern: params.get("pattern") === "yes",
    since: params.get("since") ?? "",
    until: params.get("until") ?? "",
  };
}

/** Filters that show all lines. */
export const NO_FILTERS: LogFilters = {
  level: "",
  rank: "",
  text: "",
  isPattern: false,
  since: "",
  until: "",
};

/** Whether any filter is set. */
export function hasFilters({ level, rank, text, since, until }: LogFilters): boolean {
  return [level, rank, text, since, until].some(Boolean);
}

/** Whether the filters leave out lines between others of the same rank. */
export function leavesGaps({ level, text, since, until }: LogFilters): boolean {
  return [level, text, since, until].some(Boolean);
}

/** Writes filters into an address and keeps its other parameters. */
export function writeFilters(params: URLSearchParams, filters: LogFilters): URLSearchParams {
  const next = new URLSearchParams(params);
  const { isPattern, ...texts } = filters;
  for (const [name, value] of Object.entries({ ...texts, pattern: isPattern ? "yes" : "" })) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  return next;
}

/** A range of the log to read. */
export interface LogRange {
  afterId?: string;
  beforeId?: string;
  limit?: number;
  isDescending?: boolean;
  follow?: boolean;
  /** Only errors. */
  isError?: boolean;
}

/** The API path of a range of the log at `path`. */
export function logPath(path: string, filters: LogFilters, range: LogRange): string {
  const from = range.isError ? LEVELS.indexOf("ERROR") : LEVELS.indexOf(filters.level as "INFO");
  const time = (text: string) =>
    text && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : undefined;
  const query = buildQuery({
    levels: from > 0 ? LEVELS.slice(from).map((level) => `LOG_LEVEL_${level}`) : undefined,
    rankIds: filters.rank || undefined,
    searchText: filters.text,
    enableRegex: filters.isPattern && filters.text !== "",
    timestampAfter: time(filters.since),
    timestampBefore: time(filters.until),
    orderBy: range.isDescending ? "ORDER_BY_DESC" : undefined,
    afterId: range.afterId,
    beforeId: range.beforeId,
    limit: range.limit,
    follow: range.follow,
  });
  return `${path}?${query}`;
}
