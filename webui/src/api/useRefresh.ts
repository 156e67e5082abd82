import { useEffect, useMemo } from "react";
import { useQueryClient, type QueryClient, type QueryFilters } from "@tanstack/react-query";

/** `news` schedules a refresh; `stop` cancels a scheduled one. */
export interface Refresher {
  news: () => void;
  stop: () => void;
}

/** Refetches the queries at the earliest `pause` ms after the first news. */
export function createRefresher(client: QueryClient, what: QueryFilters, pause: number): Refresher {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isReading = false;
  let hasMore = false;
  const read = async () => {
    timer = undefined;
    // A fetch in progress may have started before the news.
    hasMore = client.isFetching(what) > 0;
    isReading = true;
    // Do not cancel a fetch in progress: with frequent news no fetch would ever finish.
    await client.invalidateQueries(what, { cancelRefetch: false });
    isReading = false;
    if (hasMore) news();
  };
  const news = () => {
    if (isReading) hasMore = true;
    else timer ??= setTimeout(() => void read(), pause);
  };
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
    hasMore = false;
  };
  return { news, stop };
}

/**
 * Returns a function that schedules a refetch of the queries: at most every `pause` ms, and always
 * after the last call.
 */
export function useRefresh(what: QueryFilters, pause: number): () => void {
  const client = useQueryClient();
  const name = JSON.stringify(what);
  const renewal = useMemo(
    () => createRefresher(client, JSON.parse(name) as QueryFilters, pause),
    [client, name, pause],
  );
  useEffect(() => renewal.stop, [renewal]);
  return renewal.news;
}
