import { ApiError } from "./client";
import { openStream } from "./sharedCarrier";

const minPause = 500; // ms
const maxPause = 15_000; // ms
const maxHidden = 3_000; // ms that a page which is not visible keeps its connection

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

/** Reads a stream until it is over, the connection is lost, or it is to be asked for again. */
function readOnce<T>(path: string, signal: AbortSignal, watcher: Watcher<T>) {
  return new Promise<"end" | "lost" | "again">((resolve, reject) => {
    const close = openStream(path, (event) => {
      if (event.kind === "live") watcher.onLive?.(true);
      else if (event.kind === "message") {
        watcher.onMessage((JSON.parse(event.text) as { result: T }).result);
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

/** Whether a repetition would get the same answer; too many requests (429) will be fewer. */
const isFinal = ({ status }: ApiError) => status >= 400 && status < 500 && status !== 429;

/** Resolves when the page is visible, at once if it is. */
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

/** Aborts when `signal` does, or once the page has not been visible for a while. */
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
 * Follows a server stream of the API, and follows it again when the connection is lost, ever more
 * patiently. `path` is an address of the API with its query: "/api/v1/experiments/7/watch", or what says
 * it for each connection, where one goes on after what the last one brought. A stream
 * that the master ends is not asked for again. While the page is not visible there is no connection.
 * Ends when `signal` is aborted.
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
      if (how === "again") continue;
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
