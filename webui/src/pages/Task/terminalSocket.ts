// The messages of a terminal's websocket, all of them binary: to the task, one byte that says what follows, then
// typed bytes or the size of the terminal as JSON; from the task, the bytes to show.
const TYPED = 0;
const SIZE = 1;

const encoder = new TextEncoder();

function makeFrame(kind: number, text: string): Uint8Array<ArrayBuffer> {
  const body = encoder.encode(text);
  const frame = new Uint8Array(1 + body.length);
  frame[0] = kind;
  frame.set(body, 1);
  return frame;
}

/** Callbacks of a terminal's connection. */
export interface TerminalWatcher {
  onOpen: () => void;
  onData: (bytes: Uint8Array) => void;
  /** Called once at the end. `wasOpen` is false if the shell serves no terminal. */
  onClose: (wasOpen: boolean) => void;
}

/** A connection to the terminal of a shell. */
export interface TerminalConnection {
  type: (text: string) => void;
  resize: (cols: number, rows: number) => void;
  close: () => void;
}

/** The address of the terminal of a shell. */
export function toTerminalUrl(taskId: string): string {
  const url = new URL(`/proxy/${encodeURIComponent(taskId)}:terminal/`, location.origin);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** Connects to the terminal of a shell; what is typed before it is open is dropped. */
export function connectTerminal(taskId: string, watcher: TerminalWatcher): TerminalConnection {
  const socket = new WebSocket(toTerminalUrl(taskId));
  socket.binaryType = "arraybuffer";
  let wasOpen = false;
  let isClosed = false;
  socket.onopen = () => {
    wasOpen = true;
    watcher.onOpen();
  };
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data !== "string") watcher.onData(new Uint8Array(data));
  };
  socket.onclose = () => {
    if (!isClosed) watcher.onClose(wasOpen);
  };
  const send = (frame: Uint8Array<ArrayBuffer>) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(frame);
  };
  return {
    type: (text) => send(makeFrame(TYPED, text)),
    resize: (cols, rows) => send(makeFrame(SIZE, JSON.stringify({ cols, rows }))),
    close: () => {
      isClosed = true;
      socket.close();
    },
  };
}
