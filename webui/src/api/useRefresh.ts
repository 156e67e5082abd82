import { useEffect, useMemo } from "react";
import { useQueryClient, type QueryClient, type QueryFilters } from "@tanstack/react-query";

/** ExperimentUpdate are told to `news`; `stop` forgets those that wait. */
export interface Refresher {
  news: () => void;
  stop: () => void;
}

/** Reads what hangs on news again, `pause` ms after the first of them at the earliest. */
export function createRefresher(client: QueryClient, what: QueryFilters, pause: number): Refresher {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isReading = false;
  let hasMore = false;
  const read = async () => {
    timer = undefined;
    // What is read already may have been asked for before the news.
    hasMore = client.isFetching(what) > 0;
    isReading = true;
    // An answer that takes longer than the news are apart is waited for: else none would ever come.
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

/** A function to tell of news, with which the queries are read again: every `pause` ms at most, and always after the last. */
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
