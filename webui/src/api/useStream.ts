import { useEffect, useRef, useState } from "react";
import { skipToken, useQuery, useQueryClient, type QueryKey } from "@tanstack/react-query";
import type { ApiError } from "./client";
import { watch } from "./stream";

/** A page's stream: whether it is connected now, and why it is over, if it was refused. */
export interface StreamState {
  live: boolean;
  error: ApiError | null;
}

/**
 * Follows the stream at `path` while the component is shown.
 *
 * @param after what the next connection is to go on after (`after` of the query), if anything.
 */
export function useMessages<T>(
  path: string,
  onMessage: (message: T) => void,
  after?: () => string,
): StreamState {
  const client = useQueryClient();
  const [state, setState] = useState<StreamState>({ live: false, error: null });
  const current = useRef(onMessage);
  current.current = onMessage;
  const place = useRef(after);
  place.current = after;
  useEffect(() => {
    const aborter = new AbortController();
    const now = () => {
      const text = place.current?.();
      return text ? `${path}&after=${encodeURIComponent(text)}` : path;
    };
    void watch<T>(now, aborter.signal, {
      // What is left of a stream that is over belongs to another address.
      onMessage: (message) => aborter.signal.aborted || current.current(message),
      onLive: (live) => setState({ live, error: null }),
      onError: (error) => {
        setState({ live: false, error });
        // Asking who is signed in brings the sign-in page up.
        if (error.status === 401) void client.invalidateQueries({ queryKey: ["me"] });
      },
    });
    return () => aborter.abort();
  }, [client, path]);
  return state;
}

/** As useMessages; the newest message is kept in the query cache: components read it by `useStreamed(key)`. */
export function useStream<T>(path: string, key: QueryKey): StreamState {
  const client = useQueryClient();
  return useMessages<T>(path, (message) => client.setQueryData(key, message));
}

/** The newest message that a page's useStream left under `key`; undefined before the first. */
export function useStreamed<T>(key: QueryKey): T | undefined {
  return useQuery<T>({ queryKey: key, queryFn: skipToken, staleTime: Infinity }).data;
}
