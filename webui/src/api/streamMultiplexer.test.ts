import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createMultiplexer, type StreamMultiplexer, type StreamEvent } from "./streamMultiplexer";
import { createPortMultiplexer, type WorkerEvent, type WorkerRequest } from "./sharedMultiplexer";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A fake master whose connections stay open; returns them with their paths and means to send and fail. */
function master() {
  const connections: {
    of: string[];
    say: (text: string) => void;
    cut: () => void;
    signal: AbortSignal;
  }[] = [];
  const fetch = (request: Request) => {
    const url = new URL(request.url);
    const joined = url.pathname === "/api/v1/streams";
    const body = new ReadableStream({
      start(controller) {
        connections.push({
          of: joined ? url.searchParams.getAll("of") : [url.pathname + url.search],
          say: (text) => controller.enqueue(new TextEncoder().encode(`data: ${text}\n\n`)),
          cut: () => controller.error(new TypeError("network")),
          signal: request.signal,
        });
      },
    });
    return Promise.resolve(new Response(body));
  };
  vi.stubGlobal("fetch", vi.fn(fetch));
  return connections;
}

/** Opens a stream and collects its events, except "live". */
function follow(multiplexer: StreamMultiplexer, path: string) {
  const events: StreamEvent[] = [];
  const close = multiplexer(path, (event) => event.kind !== "live" && events.push(event));
  return { events, close };
}
const settle = () => vi.advanceTimersByTimeAsync(1);

it("carries streams that are requested together over one connection", async () => {
  const connections = master();
  const multiplexer = createMultiplexer(2);
  const a = follow(multiplexer, "/api/v1/a?x=1");
  const b = follow(multiplexer, "/api/v1/b");
  await settle();
  expect(connections.map(({ of }) => of)).toEqual([["/api/v1/a?x=1", "/api/v1/b"]]);
  connections[0]?.say('{"stream":1,"result":{"stream":0,"n":1}}');
  connections[0]?.say('{"stream":0,"result":7}');
  connections[0]?.say('{"stream":1,"end":true}');
  connections[0]?.say('{"stream":1,"result":8}');
  await settle();
  expect(a.events).toEqual([{ kind: "message", text: '{"result":7}' }]);
  const first = { kind: "message", text: '{"result":{"stream":0,"n":1}}' };
  expect(b.events).toEqual([first, { kind: "end" }]);
  connections[0]?.cut();
  await settle();
  expect(a.events.at(-1)).toEqual({ kind: "lost" });
  expect(b.events).toHaveLength(2);
});

it("refuses one stream without ending the others", async () => {
  const connections = master();
  const multiplexer = createMultiplexer(2);
  const a = follow(multiplexer, "/api/v1/a");
  const b = follow(multiplexer, "/api/v1/b");
  await settle();
  connections[0]?.say(
    '{"stream":0,"status":404,"error":{"code":5,"error":"no a","reason":"NotFound"}}',
  );
  connections[0]?.say('{"stream":1,"result":1}');
  connections[0]?.say(
    '{"stream":1,"status":409,"error":{"code":10,"error":"x","reason":"Aborted"}}',
  );
  await settle();
  expect(a.events).toEqual([
    { kind: "refused", message: "no a", status: 404, reason: "NotFound", requestId: "" },
  ]);
  expect(b.events.at(-1)).toEqual({ kind: "lost" });
});

it("moves all streams to one connection at the connection limit", async () => {
  const connections = master();
  const multiplexer = createMultiplexer(2);
  const a = follow(multiplexer, "/api/v1/a");
  const b = undefined;
  await settle();
  const other = follow(multiplexer, "/api/v1/b");
  await settle();
  expect(connections).toHaveLength(2);
  const events: string[] = [];
  // Pages request a moved stream again at once.
  const reopen = (path: string) =>
    multiplexer(path, (event) => {
      events.push(`${path} ${event.kind}`);
      if (event.kind === "moved") reopen(`${path}+`);
    });
  reopen("/api/v1/c");
  await settle();
  expect(connections[0]?.signal.aborted && connections[1]?.signal.aborted).toBe(true);
  expect([a, other].map(({ events }) => events)).toEqual([
    [{ kind: "moved" }],
    [{ kind: "moved" }],
  ]);
  expect(connections[2]?.of).toEqual(["/api/v1/c"]);
  expect(b).toBeUndefined();
});

it("closes a connection without streams", async () => {
  const connections = master();
  const multiplexer = createMultiplexer(2);
  const a = follow(multiplexer, "/api/v1/a");
  const b = follow(multiplexer, "/api/v1/b");
  follow(multiplexer, "/api/v1/c").close();
  await settle();
  expect(connections[0]?.of).toEqual(["/api/v1/a", "/api/v1/b"]);
  a.close();
  expect(connections[0]?.signal.aborted).toBe(false);
  b.close();
  expect(connections[0]?.signal.aborted).toBe(true);
  await settle();
  expect(b.events).toEqual([]);
});

it("carries streams through a port, or directly if the worker fails", () => {
  const sent: WorkerRequest[] = [];
  const port = {
    postMessage: (message: WorkerRequest) => sent.push(message),
  } as unknown as MessagePort;
  const hear = (data: WorkerEvent) => {
    port.onmessage?.call(port, new MessageEvent("message", { data }));
  };
  let fail: () => void = vi.fn();
  const multiplexer = createPortMultiplexer(port, (onFailure) => (fail = onFailure));
  const a = follow(multiplexer, "/api/v1/a");
  const b = follow(multiplexer, "/api/v1/b");
  const [first, second] = sent as { open: string; path: string }[];
  expect([first?.path, second?.path]).toEqual(["/api/v1/a", "/api/v1/b"]);
  hear({ key: first?.open ?? "", event: { kind: "message", text: "1" } });
  hear({ key: first?.open ?? "", event: { kind: "end" } });
  hear({ key: first?.open ?? "", event: { kind: "message", text: "2" } });
  expect(a.events).toEqual([{ kind: "message", text: "1" }, { kind: "end" }]);
  fail();
  expect(b.events).toEqual([{ kind: "moved" }]);
  dispatchEvent(new Event("pagehide"));
  expect(sent.at(-1)).toEqual({ leave: true });
});
