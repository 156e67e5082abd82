import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { buildQuery } from "@/api/messages";

const HOUR = 3_600_000; // ms

/** A time range until now, and the unit of its chart. */
export interface Span {
  name: string;
  length: number;
  unit: number;
  unitName: string;
}

export const SPANS: readonly [Span, ...Span[]] = [
  { name: "day", length: 24 * HOUR, unit: HOUR, unitName: "hours relative to now" },
  { name: "week", length: 7 * 24 * HOUR, unit: 24 * HOUR, unitName: "days relative to now" },
  { name: "month", length: 30 * 24 * HOUR, unit: 24 * HOUR, unitName: "days relative to now" },
];

interface Times {
  from: number;
  to: number;
}

/** The allocations that held slots in the range, and the agents that offered slots. */
export function useAllocations(span: Span) {
  return useQuery({
    queryKey: ["cluster", "usage", span.name],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const to = Date.now();
      const from = to - span.length;
      const query = {
        timestampAfter: new Date(from).toISOString(),
        timestampBefore: new Date(to).toISOString(),
      };
      const [{ resourceEntries = [] }, { entries: capacity = [] }] = await Promise.all([
        unwrap(api.GET("/api/v1/resources/allocation/raw", { params: { query }, signal })),
        unwrap(api.GET("/api/v1/resources/capacity", { params: { query }, signal })),
      ]);
      return { entries: resourceEntries, capacity, from, to };
    },
  });
}

/** The path of a CSV export of the range. */
export function csvPath(what: "allocations-csv" | "aggregated", { from, to }: Times): string {
  const begin = new Date(from).toISOString();
  const end = new Date(to).toISOString();
  const query =
    what === "aggregated"
      ? buildQuery({
          start_date: begin.slice(0, 10),
          end_date: end.slice(0, 10),
          period: "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY",
        })
      : buildQuery({ timestamp_after: begin, timestamp_before: end });
  return `/resources/allocation/${what}?${query}`;
}
