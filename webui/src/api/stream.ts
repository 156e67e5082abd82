import { ApiError, request } from "./client";
import { linesOf } from "./lines";

const firstPause = 500; // ms
const longestPause = 15_000; // ms
const longestUnseen = 3_000; // ms that a page which is not seen keeps its connection

/** What becomes of a stream; all are called from the event loop, in order. */
export interface Watcher<T> {
  /** Each message of the stream. After a lost connection the stream begins anew. */
  onMessage: (message: T) => void;
  /** True once a connection is good, false when it is lost: it is then tried again by itself. */
  onLive?: (live: boolean) => void;
  /** A refusal that a repetition would not mend (4xx): the stream is over. */
  onError?: (error: ApiError) => void;
  /** Called when the master ended the stream because there is no more. */
  onEnd?: () => void;
}

type Line<T> = { result: T } | { error: { reason: string; error: string } };

/** Reads one connection to its end: true if the stream is over, false if it was cut off. */
async function readOnce<T>(path: string, signal: AbortSignal, watcher: Watcher<T>) {
  const headers = { Accept: "text/event-stream" };
  const url = new URL(path, location.origin);
  const response = await request(new Request(url, { headers, signal, cache: "no-store" }));
  if (response.body === null) return false;
  watcher.onLive?.(true);
  for await (const line of linesOf(response.body)) {
    if (!line.startsWith("data: ")) continue;
    const message = JSON.parse(line.slice("data: ".length)) as Line<T>;
    if ("error" in message) return false;
    watcher.onMessage(message.result);
  }
  return true;
}

function pause(ms: number, signal: AbortSignal) {
  return new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Whether a repetition would get the same answer; too many requests (429) will be fewer. */
const isFinal = ({ status }: ApiError) => status >= 400 && status < 500 && status !== 429;

/** Resolves when the page is seen, at once if it is. */
function seen(signal: AbortSignal) {
  return new Promise<void>((resolve) => {
    if (!document.hidden) {
      resolve();
      return;
    }
    const look = () => document.hidden || resolve();
    document.addEventListener("visibilitychange", look, { signal });
    signal.addEventListener("abort", () => resolve());
  });
}

/** Aborts when `signal` does, or once the page has not been seen for a while. */
function whileSeen(signal: AbortSignal): AbortController {
  const aborter = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => aborter.abort(), longestUnseen);
  };
  const both = AbortSignal.any([signal, aborter.signal]);
  document.addEventListener("visibilitychange", look, { signal: both });
  both.addEventListener("abort", () => clearTimeout(timer));
  signal.addEventListener("abort", () => aborter.abort(), { signal: aborter.signal });
  return aborter;
}

/**
 * Follows a server stream of the API, and follows it again when the connection is lost, ever more
 * patiently. `path` is an address of the API with its query: "/api/v1/experiments/7/watch", or what says
 * it for each connection, where one goes on after what the last one brought. A stream
 * that the master ends is not asked for again. While the page is not seen there is no connection.
 * Ends when `signal` is aborted.
 */
export async function watch<T>(
  path: string | (() => string),
  signal: AbortSignal,
  watcher: Watcher<T>,
): Promise<void> {
  const over = () => signal.aborted;
  let wait = firstPause;
  while (!over()) {
    await seen(signal);
    if (over()) return;
    const connection = whileSeen(signal);
    const unseen = () => connection.signal.aborted;
    const began = Date.now();
    try {
      const now = typeof path === "string" ? path : path();
      if (await readOnce(now, connection.signal, watcher)) {
        watcher.onEnd?.();
        return;
      }
    } catch (error) {
      if (over()) return;
      if (unseen()) continue;
      if (error instanceof ApiError && isFinal(error)) {
        watcher.onError?.(error);
        return;
      }
    } finally {
      connection.abort();
    }
    watcher.onLive?.(false);
    if (Date.now() - began > longestPause) wait = firstPause;
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(2 * wait, longestPause);
  }
}
