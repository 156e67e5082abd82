import { ApiError } from "./client";
import { dropNulls } from "./nulls";
import { openStream } from "./sharedMultiplexer";

const minPause = 500; // ms
const maxPause = 15_000; // ms
const maxHidden = 3_000; // ms that a hidden page keeps its connection

/** Callbacks of a stream, called from the event loop, in order. */
export interface Watcher<T> {
  /**
   * Called for each message. After a lost connection the stream starts again from the beginning.
   */
  onMessage: (message: T) => void;
  /**
   * Called with true when connected, with false when the connection is lost; it is then retried.
   */
  onLive?: (live: boolean) => void;
  /** Called for a refusal that a retry would not change (4xx): the stream has ended. */
  onError?: (error: ApiError) => void;
  /** Called when the master ended the stream. */
  onEnd?: () => void;
}

/** Reads a stream until it ends, the connection is lost, or it must be requested again. */
function readOnce<T>(path: string, signal: AbortSignal, watcher: Watcher<T>) {
  return new Promise<"end" | "lost" | "moved">((resolve, reject) => {
    const close = openStream(path, (event) => {
      if (event.kind === "live") watcher.onLive?.(true);
      else if (event.kind === "message") {
        watcher.onMessage(dropNulls((JSON.parse(event.text) as { result: T }).result));
      } else if (event.kind === "refused") {
        reject(new ApiError(event.message, event.status, event.reason, event.requestId));
      } else resolve(event.kind);
    });
    signal.addEventListener("abort", () => {
      close();
      reject(signal.reason as Error);
    });
  });
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

/** Whether a retry would get the same response; rate limiting (429) is temporary. */
const isFinal = ({ status }: ApiError) => status >= 400 && status < 500 && status !== 429;

/** Resolves when the page is visible; immediately if it is. */
function visible(signal: AbortSignal) {
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

/** Aborts when `signal` does, or when the page has been hidden for a while. */
function whileVisible(signal: AbortSignal): AbortController {
  const aborter = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => aborter.abort(), maxHidden);
  };
  const both = AbortSignal.any([signal, aborter.signal]);
  document.addEventListener("visibilitychange", look, { signal: both });
  both.addEventListener("abort", () => clearTimeout(timer));
  signal.addEventListener("abort", () => aborter.abort(), { signal: aborter.signal });
  return aborter;
}

/**
 * Follows a server stream of the API and reconnects with exponential backoff. `path` is an API path with its
 * query, or a function that returns it for each connection, which can resume after the last message. A stream
 * that the master ends is not requested again. There is no connection while the page is hidden. Ends when
 * `signal` is aborted.
 */
export async function watch<T>(
  path: string | (() => string),
  signal: AbortSignal,
  watcher: Watcher<T>,
): Promise<void> {
  const over = () => signal.aborted;
  let wait = minPause;
  while (!over()) {
    await visible(signal);
    if (over()) return;
    const connection = whileVisible(signal);
    const isHidden = () => connection.signal.aborted;
    const began = Date.now();
    try {
      const now = typeof path === "string" ? path : path();
      const how = await readOnce(now, connection.signal, watcher);
      if (how === "moved") continue;
      if (how === "end") {
        watcher.onEnd?.();
        return;
      }
    } catch (error) {
      if (over()) return;
      if (isHidden()) continue;
      if (error instanceof ApiError && isFinal(error)) {
        watcher.onError?.(error);
        return;
      }
    } finally {
      connection.abort();
    }
    watcher.onLive?.(false);
    if (Date.now() - began > maxPause) wait = minPause;
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(2 * wait, maxPause);
  }
}
