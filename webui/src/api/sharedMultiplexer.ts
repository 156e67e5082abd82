import { randomId } from "@/randomId";
import {
  createMultiplexer,
  type StreamMultiplexer,
  type OnEvent,
  type StreamEvent,
} from "./streamMultiplexer";

/** A request of a window to the worker; `leave` when the window closes. */
export type WorkerRequest = { open: string; path: string } | { close: string } | { leave: true };
export interface WorkerEvent {
  key: string;
  event: StreamEvent;
}

/**
 * Opens a stream through the worker that all windows share, or through this window's own multiplexer if
 * the browser has no SharedWorker.
 */
export const openStream: StreamMultiplexer = (path, onEvent) =>
  (multiplexer ??= createShared() ?? createMultiplexer(1))(path, onEvent);

let multiplexer: StreamMultiplexer | undefined;

function createShared(): StreamMultiplexer | undefined {
  if (typeof SharedWorker === "undefined") return undefined;
  const worker = new SharedWorker(new URL("./streamWorker.ts", import.meta.url), {
    type: "module",
    name: "streams",
  });
  return createPortMultiplexer(worker.port, (fail) => worker.addEventListener("error", fail));
}

/**
 * Creates a multiplexer that uses a worker's port. `onFailure` registers a callback for a worker that
 * cannot start.
 */
export function createPortMultiplexer(
  port: MessagePort,
  onFailure: (fail: () => void) => void,
): StreamMultiplexer {
  const open = new Map<string, OnEvent>();
  const post = (message: WorkerRequest) => port.postMessage(message);
  const reopen = () => {
    const all = [...open.values()];
    open.clear();
    all.forEach((onEvent) => onEvent({ kind: "moved" }));
  };
  port.onmessage = ({ data: { key, event } }: MessageEvent<WorkerEvent>) => {
    const onEvent = open.get(key);
    if (event.kind !== "live" && event.kind !== "message") open.delete(key);
    onEvent?.(event);
  };
  onFailure(() => {
    multiplexer = createMultiplexer(1);
    reopen();
  });
  // The worker does not notice a closed window: without this message its streams would stay open.
  addEventListener("pagehide", () => post({ leave: true }));
  // The browser may restore the page from its back/forward cache.
  addEventListener("pageshow", ({ persisted }) => persisted && reopen());
  return (path, onEvent) => {
    const key = randomId();
    open.set(key, onEvent);
    post({ open: key, path });
    return () => {
      if (open.delete(key)) post({ close: key });
    };
  };
}
