// What a terminal's websocket carries, a stream of bytes in binary frames. To the task: one byte that says what
// follows, two bytes for its length, then the typed text, or the columns and rows of the terminal in two bytes each
// (numbers are big-endian). From the task: the bytes to show.
const TYPED = 0;
const SIZE = 1;
const HEADER_BYTES = 3;
const MAX_BODY_BYTES = 0xffff;

const encoder = new TextEncoder();

function makeMessage(kind: number, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(HEADER_BYTES + body.length);
  message.set([kind, body.length >> 8, body.length & 0xff]);
  message.set(body, HEADER_BYTES);
  return message;
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
  const send = (kind: number, body: Uint8Array) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(makeMessage(kind, body));
  };
  return {
    type: (text) => {
      const bytes = encoder.encode(text);
      for (let begin = 0; begin < bytes.length; begin += MAX_BODY_BYTES)
        send(TYPED, bytes.subarray(begin, begin + MAX_BODY_BYTES));
    },
    resize: (cols, rows) =>
      send(SIZE, Uint8Array.of(cols >> 8, cols & 0xff, rows >> 8, rows & 0xff)),
    close: () => {
      isClosed = true;
      socket.close();
    },
  };
}
