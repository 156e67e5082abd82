import { randomId } from "@/randomId";
import { createCarrier, type Carrier, type OnEvent, type StreamEvent } from "./carrier";

/** A request of a window to the worker; `leave` when the window closes. */
export type WorkerRequest = { open: string; path: string } | { close: string } | { leave: true };
export interface WorkerEvent {
  key: string;
  event: StreamEvent;
}

/**
 * Opens a stream through the worker that all windows share, or through this window's own carrier if
 * the browser has no SharedWorker.
 */
export const openStream: Carrier = (path, onEvent) =>
  (carrier ??= createShared() ?? createCarrier(1))(path, onEvent);

let carrier: Carrier | undefined;

function createShared(): Carrier | undefined {
  if (typeof SharedWorker === "undefined") return undefined;
  const worker = new SharedWorker(new URL("./streamWorker.ts", import.meta.url), {
    type: "module",
    name: "streams",
  });
  return createPortCarrier(worker.port, (fail) => worker.addEventListener("error", fail));
}

/**
 * Creates a carrier that uses a worker's port. `onFailure` registers a callback for a worker that
 * cannot start.
 */
export function createPortCarrier(
  port: MessagePort,
  onFailure: (fail: () => void) => void,
): Carrier {
  const open = new Map<string, OnEvent>();
  const post = (message: WorkerRequest) => port.postMessage(message);
  const again = () => {
    const all = [...open.values()];
    open.clear();
    all.forEach((onEvent) => onEvent({ kind: "again" }));
  };
  port.onmessage = ({ data: { key, event } }: MessageEvent<WorkerEvent>) => {
    const onEvent = open.get(key);
    if (event.kind !== "live" && event.kind !== "message") open.delete(key);
    onEvent?.(event);
  };
  onFailure(() => {
    carrier = createCarrier(1);
    again();
  });
  // The worker does not notice a closed window: without this message its streams would stay open.
  addEventListener("pagehide", () => post({ leave: true }));
  // The browser may restore the page from its back/forward cache.
  addEventListener("pageshow", ({ persisted }) => persisted && again());
  return (path, onEvent) => {
    const key = randomId();
    open.set(key, onEvent);
    post({ open: key, path });
    return () => {
      if (open.delete(key)) post({ close: key });
    };
  };
}
