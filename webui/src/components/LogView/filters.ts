import { buildQuery } from "@/api/messages";

export const LEVELS = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const;

/** Which lines are shown; what is empty asks nothing. */
export interface LogFilters {
  /** The least level, one of LEVELS. */
  level: string;
  rank: string;
  text: string;
  isPattern: boolean;
  /** Times of the API (or of a datetime-local field), the ends of what is shown. */
  since: string;
  until: string;
}

/** Reads filters out of an address. */
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

/** Filters that leave nothing out. */
export const NO_FILTERS: LogFilters = {
  level: "",
  rank: "",
  text: "",
  isPattern: false,
  since: "",
  until: "",
};

/** Whether they may leave a line out. */
export function hasFilters({ level, rank, text, since, until }: LogFilters): boolean {
  return [level, rank, text, since, until].some(Boolean);
}

/** Writes filters into an address; the rest of it stays. */
export function writeFilters(params: URLSearchParams, filters: LogFilters): URLSearchParams {
  const next = new URLSearchParams(params);
  const { isPattern, ...texts } = filters;
  for (const [name, value] of Object.entries({ ...texts, pattern: isPattern ? "yes" : "" })) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  return next;
}

/** Where in the log to read: what lies before or after a line, how many, whether to wait for more. */
export interface LogRange {
  afterId?: string;
  beforeId?: string;
  limit?: number;
  isDescending?: boolean;
  follow?: boolean;
  /** Only errors. */
  isError?: boolean;
}

/** The address of a trial's log. */
export function logPath(trialId: number, filters: LogFilters, place: LogRange): string {
  const from = place.isError ? LEVELS.indexOf("ERROR") : LEVELS.indexOf(filters.level as "INFO");
  const time = (text: string) =>
    text && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : undefined;
  const query = buildQuery({
    levels: from > 0 ? LEVELS.slice(from).map((level) => `LOG_LEVEL_${level}`) : undefined,
    rankIds: filters.rank || undefined,
    searchText: filters.text,
    enableRegex: filters.isPattern && filters.text !== "",
    timestampAfter: time(filters.since),
    timestampBefore: time(filters.until),
    orderBy: place.isDescending ? "ORDER_BY_DESC" : undefined,
    afterId: place.afterId,
    beforeId: place.beforeId,
    limit: place.limit,
    follow: place.follow,
  });
  return `/api/v1/trials/${trialId}/logs?${query}`;
}
