import { useEffect, useState } from "react";
import { skipToken, useQuery, useQueryClient, type QueryKey } from "@tanstack/react-query";
import type { ApiError } from "./client";
import { useLatest } from "@/useLatest";
import { watch } from "./stream";

/** The state of a page's stream: whether it is connected, and its refusal if there was one. */
export interface StreamState {
  live: boolean;
  error: ApiError | null;
}

/**
 * Follows the stream at `path` while the component is mounted.
 *
 * @param after returns the position after which the next connection resumes (`after` in the query), if any.
 */
export function useMessages<T>(
  path: string,
  onMessage: (message: T) => void,
  after?: () => string,
): StreamState {
  const client = useQueryClient();
  const [state, setState] = useState<StreamState>({ live: false, error: null });
  const latestOnMessage = useLatest(onMessage);
  const latestAfter = useLatest(after);
  useEffect(() => {
    const aborter = new AbortController();
    const nextPath = () => {
      const text = latestAfter.current?.();
      return text ? `${path}&after=${encodeURIComponent(text)}` : path;
    };
    void watch<T>(nextPath, aborter.signal, {
      // Late messages of an aborted stream belong to another path.
      onMessage: (message) => aborter.signal.aborted || latestOnMessage.current(message),
      onLive: (live) => setState({ live, error: null }),
      onError: (error) => {
        setState({ live: false, error });
        // Refetching the user opens the sign-in page.
        if (error.status === 401) void client.invalidateQueries({ queryKey: ["me"] });
      },
    });
    return () => aborter.abort();
  }, [client, path, latestOnMessage, latestAfter]);
  return state;
}

/**
 * Same as useMessages, but stores the latest message in the query cache: components read it with
 * `useStreamed(key)`.
 */
export function useStream<T>(path: string, key: QueryKey): StreamState {
  const client = useQueryClient();
  return useMessages<T>(path, (message) => client.setQueryData(key, message));
}

/** The latest message that useStream stored under `key`; undefined before the first. */
export function useStreamed<T>(key: QueryKey): T | undefined {
  return useQuery<T>({ queryKey: key, queryFn: skipToken, staleTime: Infinity }).data;
}
