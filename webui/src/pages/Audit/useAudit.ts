import { useInfiniteQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";

export type AuditRecord = Message["AuditRecord"];

/** The filter; empty fields match all records. Times are in datetime-local format. */
export interface AuditFilter {
  username: string;
  method: string;
  since: string;
  until: string;
}

const PAGE = 200;

/** Converts a local time to the API's format; undefined if empty or invalid. */
export function toIsoTime(local: string): string | undefined {
  const time = new Date(local);
  return local && !Number.isNaN(time.getTime()) ? time.toISOString() : undefined;
}

/** The audit records, newest first, read page by page. */
export function useAudit(filter: AuditFilter) {
  return useInfiniteQuery({
    queryKey: ["audit", filter],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const { username, method } = filter;
      const since = toIsoTime(filter.since);
      const until = toIsoTime(filter.until);
      const query = {
        limit: PAGE,
        ...(username && { username }),
        ...(method && { method }),
        ...(since && { since }),
        ...(until && { until }),
        ...(pageParam && { beforeId: pageParam }),
      };
      return unwrap(api.GET("/api/v1/master/audit", { params: { query }, signal }));
    },
    getNextPageParam: ({ nextBeforeId }) =>
      nextBeforeId && nextBeforeId !== "0" ? nextBeforeId : undefined,
  });
}
