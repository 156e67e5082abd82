import { ApiError, request } from "./client";
import { toLines } from "./messages";

/** An event of a requested stream. Any event other than "live" and "message" is the last one. */
export type StreamEvent =
  | { kind: "live" }
  /** `text` is JSON; the message is its field `result`. */
  | { kind: "message"; text: string }
  /** The master ended the stream. */
  | { kind: "end" }
  | { kind: "refused"; message: string; status: number; reason: string; requestId: string }
  /** The connection was lost. */
  | { kind: "lost" }
  /** The stream moves to another connection; the caller must request it again at once. */
  | { kind: "moved" };
export type OnEvent = (event: StreamEvent) => void;

/**
 * Opens the stream at a path ("/api/v1/overview?follow=true"); returns a function that closes it.
 */
export type StreamMultiplexer = (path: string, onEvent: OnEvent) => () => void;

interface StreamRequest {
  path: string;
  onEvent: OnEvent;
  /** The open streams of the same connection, including this one. */
  siblings: Set<StreamRequest>;
  close: () => void;
  hasMessages: boolean;
}

interface Connection {
  streams: Set<StreamRequest>;
  aborter: AbortController;
}

/**
 * Creates a multiplexer that uses at most `maxConnections` connections for any number of streams. A browser
 * opens at most six connections to a host for all of its windows.
 *
 * @param later calls back when all streams that are requested together have been requested.
 */
export function createMultiplexer(
  maxConnections: number,
  later: (start: () => void) => void = queueMicrotask,
): StreamMultiplexer {
  const connections = new Set<Connection>();
  let waiting = new Set<StreamRequest>();
  let isStartScheduled = false;

  const finish = (stream: StreamRequest, event: StreamEvent) => {
    if (stream.siblings.delete(stream)) stream.onEvent(event);
  };

  const scheduleStart = () => {
    if (isStartScheduled) return;
    isStartScheduled = true;
    later(start);
  };
  const start = () => {
    isStartScheduled = false;
    if (waiting.size === 0) return;
    if (connections.size >= maxConnections) {
      const moved = [...connections].flatMap(({ streams }) => [...streams]);
      for (const { aborter } of connections) aborter.abort();
      connections.clear();
      for (const stream of moved) finish(stream, { kind: "moved" });
      scheduleStart();
      return;
    }
    const connection = { streams: waiting, aborter: new AbortController() };
    waiting = new Set();
    connections.add(connection);
    const leave = () => {
      if (connection.streams.size === 0) connection.aborter.abort();
    };
    for (const stream of connection.streams) stream.close = leave;
    void follow(connection).finally(() => connections.delete(connection));
  };

  const follow = async ({ streams, aborter: { signal } }: Connection) => {
    const all = [...streams];
    const endAll = (event: StreamEvent) => all.forEach((stream) => finish(stream, event));
    try {
      const response = await open(all, signal);
      const [alone] = all.length === 1 ? all : [];
      alone?.onEvent({ kind: "live" });
      for await (const line of response.body ? toLines(response.body) : []) {
        const [stream, event] = alone
          ? [alone, parseEvent(line)]
          : parseMultiplexedEvent(line, all);
        if (!stream || !event || !streams.has(stream)) continue;
        if (event.kind !== "message") finish(stream, event);
        else {
          if (!alone && !stream.hasMessages) stream.onEvent({ kind: "live" });
          stream.hasMessages = true;
          stream.onEvent(event);
        }
      }
      endAll({ kind: alone ? "end" : "lost" });
    } catch (error) {
      endAll(error instanceof ApiError && !signal.aborted ? refusal(error) : { kind: "lost" });
    }
  };

  return (path, onEvent) => {
    const stream: StreamRequest = {
      path,
      onEvent,
      siblings: waiting,
      close: () => undefined,
      hasMessages: false,
    };
    waiting.add(stream);
    scheduleStart();
    return () => {
      if (stream.siblings.delete(stream)) stream.close();
    };
  };
}

function open(streams: readonly StreamRequest[], signal: AbortSignal): Promise<Response> {
  const query = new URLSearchParams(streams.map(({ path }) => ["of", path]));
  const [first] = streams;
  const path = first && streams.length === 1 ? first.path : `/api/v1/streams?${query.toString()}`;
  const headers = { Accept: "text/event-stream" };
  const url = new URL(path, location.origin);
  return request(new Request(url, { headers, signal, cache: "no-store" }));
}

function refusal({ message, status, reason, requestId }: ApiError): StreamEvent {
  return { kind: "refused", message, status, reason, requestId };
}

/** Parses a line of a connection that carries one stream. */
function parseEvent(line: string): StreamEvent | undefined {
  if (!line.startsWith("data: ")) return undefined;
  const text = line.slice("data: ".length);
  return text.startsWith('{"error"') ? { kind: "lost" } : { kind: "message", text };
}

const JOINED = /^data: \{"stream":(\d+),/;

/**
 * Parses a line of a connection that carries several streams: {"stream": 1, "result": …},
 * {"stream": 1, "end": true}, {"stream": 1, "status": 404, "error": …}.
 */
function parseMultiplexedEvent(
  line: string,
  all: readonly StreamRequest[],
): [StreamRequest?, StreamEvent?] {
  const found = JOINED.exec(line);
  const stream = all[Number(found?.[1])];
  if (!found || !stream) return [];
  const text = `{${line.slice(found[0].length)}`;
  if (text.startsWith('{"result"')) return [stream, { kind: "message", text }];
  if (text.startsWith('{"end"')) return [stream, { kind: "end" }];
  // A stream that has delivered messages is requested again: something other than a refusal may
  // have ended it.
  if (stream.hasMessages) return [stream, { kind: "lost" }];
  const { status, error } = JSON.parse(text) as {
    status: number;
    error: { reason: string; error: string };
  };
  return [stream, refusal(new ApiError(error.error, status, error.reason, ""))];
}
