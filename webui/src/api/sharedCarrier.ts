import { randomId } from "@/randomId";
import { createCarrier, type Carrier, type OnEvent, type StreamEvent } from "./carrier";

/** What a window tells the worker: `leave` when it goes. */
export type WorkerRequest = { open: string; path: string } | { close: string } | { leave: true };
export interface WorkerEvent {
  key: string;
  event: StreamEvent;
}

/** The carrier of this window's streams: the worker that all windows share, or its own where a browser has none. */
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

/** A carrier at the other end of a port. `onFailure` is given what is to be called when there is none. */
export function createPortCarrier(
  port: MessagePort,
  onFailure: (fail: () => void) => void,
): Carrier {
  const open = new Map<string, OnEvent>();
  const tell = (message: WorkerRequest) => port.postMessage(message);
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
  // A window that goes without a word is missed by nobody: its streams would go on for nobody.
  addEventListener("pagehide", () => tell({ leave: true }));
  // It may come back as it was.
  addEventListener("pageshow", ({ persisted }) => persisted && again());
  return (path, onEvent) => {
    const key = randomId();
    open.set(key, onEvent);
    tell({ open: key, path });
    return () => {
      if (open.delete(key)) tell({ close: key });
    };
  };
}
