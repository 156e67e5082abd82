// A SharedWorker that carries the streams of all windows over two connections.
import { createMultiplexer } from "./streamMultiplexer";
import type { WorkerEvent, WorkerRequest } from "./sharedMultiplexer";

const TOGETHER = 10; // ms
const multiplexer = createMultiplexer(2, (start) => setTimeout(start, TOGETHER));

function serve(port: MessagePort) {
  const closers = new Map<string, () => void>();
  const close = (key: string) => {
    closers.get(key)?.();
    closers.delete(key);
  };
  port.onmessage = ({ data }: MessageEvent<WorkerRequest>) => {
    if ("open" in data) {
      const { open: key, path } = data;
      const onEvent = (event: WorkerEvent["event"]) => port.postMessage({ key, event });
      closers.set(key, multiplexer(path, onEvent));
    } else if ("close" in data) close(data.close);
    else [...closers.keys()].forEach(close);
  };
}

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port) serve(port);
});
