import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watch } from "./stream";

const aborter = { now: new AbortController() };

beforeEach(() => {
  vi.useFakeTimers();
  aborter.now = new AbortController();
});

afterEach(() => {
  aborter.now.abort();
  vi.useRealTimers();
});

type Answer = Response | Error | ((request: Request) => Response);

function answers(...responses: Answer[]) {
  const fetch = vi.fn((request: Request) => {
    const next = responses.shift();
    if (typeof next === "function") return Promise.resolve(next(request));
    if (next instanceof Error) return Promise.reject(next);
    return next ? Promise.resolve(next) : new Promise<Response>(() => undefined);
  });
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

/** A body with these chunks; unless `ends`, the connection is lost after them. */
function events(pieces: string[], ends = true): Response {
  const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
  return new Response(
    new ReadableStream({
      pull(controller) {
        const next = bytes.shift();
        if (next) controller.enqueue(next);
        else if (ends) controller.close();
        else controller.error(new TypeError("network"));
      },
    }),
  );
}

/** A stream that sends `text` and stays open until the request is aborted. */
const openStream = (text: string) => (request: Request) =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        request.signal.addEventListener("abort", () => controller.error(request.signal.reason));
      },
    }),
  );

test("delivers whole messages across chunks", async () => {
  answers(events(['data: {"result":{"n', '":"ä1"}}\n\ndata: {"result":{"n":"2"}}\n', "\n"]));
  const seen: unknown[] = [];
  const ended = vi.fn();
  await watch("/api/v1/x", aborter.now.signal, { onMessage: (m) => seen.push(m), onEnd: ended });
  expect(seen).toEqual([{ n: "ä1" }, { n: "2" }]);
  expect(ended).toHaveBeenCalledOnce();
});

test("reconnects after a lost connection and while the master is unreachable", async () => {
  const fetch = answers(
    events(['data: {"result":1}\n\n'], false),
    new TypeError("refused"),
    events(['data: {"result":2}\n\n']),
  );
  const seen: unknown[] = [];
  const live: boolean[] = [];
  const over = watch("/api/v1/x", aborter.now.signal, {
    onMessage: (m) => seen.push(m),
    onLive: (l) => live.push(l),
  });
  await vi.runAllTimersAsync();
  await over;
  expect(fetch).toHaveBeenCalledTimes(3);
  expect(seen).toEqual([1, 2]);
  expect(live).toEqual([true, false, false, true]);
});

test("ends on a refusal and passes the request ID", async () => {
  const error = { error: { code: 5, reason: "NotFound", error: "experiment 7 not found" } };
  answers(new Response(JSON.stringify(error), { status: 404, headers: { "X-Request-Id": "r" } }));
  const onError = vi.fn();
  await watch("/api/v1/x", aborter.now.signal, { onMessage: vi.fn(), onError });
  expect(onError).toHaveBeenCalledWith(
    expect.objectContaining({
      message: "experiment 7 not found",
      status: 404,
      requestId: "r",
    }),
  );
});

test("ends on abort during a pause", async () => {
  const fetch = answers(new TypeError("refused"));
  const over = watch("/api/v1/x", aborter.now.signal, { onMessage: vi.fn() });
  await vi.advanceTimersByTimeAsync(0);
  aborter.now.abort();
  await over;
  expect(fetch).toHaveBeenCalledOnce();
});

test("opens no connection while the page is hidden", async () => {
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const fetch = answers(events(['data: {"result":1}\n\n']));
  const seen: unknown[] = [];
  const over = watch("/api/v1/x", aborter.now.signal, { onMessage: (m) => seen.push(m) });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fetch).not.toHaveBeenCalled();
  hidden.mockReturnValue(false);
  document.dispatchEvent(new Event("visibilitychange"));
  await over;
  expect(seen).toEqual([1]);
});

test("closes the connection of a hidden page and reconnects when it is visible", async () => {
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(false);
  const turn = (now: boolean) => {
    hidden.mockReturnValue(now);
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const open = openStream('data: {"result":1}\n\n');
  const fetch = answers(open, events(['data: {"result":2}\n\ndata: {"result":3}\n\n']));
  const seen: number[] = [];
  const over = watch<number>(() => `/api/v1/x?after=${seen.at(-1) ?? 0}`, aborter.now.signal, {
    onMessage: (n) => seen.push(n),
  });
  await vi.advanceTimersByTimeAsync(0);
  const [first] = fetch.mock.calls as unknown as [Request][];
  // A short visit to another page does not close the connection.
  turn(true);
  await vi.advanceTimersByTimeAsync(1_000);
  turn(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(first?.[0].signal.aborted).toBe(false);
  turn(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(first?.[0].signal.aborted).toBe(true);
  expect(fetch).toHaveBeenCalledOnce();
  expect(seen).toEqual([1]);
  turn(false);
  await over;
  expect(seen).toEqual([1, 2, 3]);
  const second = (fetch.mock.calls as unknown as [Request][])[1];
  expect(second?.[0].url).toContain("?after=1");
});

test("resumes each connection after the last message", async () => {
  const fetch = answers(
    events(['data: {"result":7}\n\n'], false),
    events(['data: {"result":8}\n\n']),
  );
  let newest = 0;
  const over = watch<number>(() => `/api/v1/x?after=${newest}`, aborter.now.signal, {
    onMessage: (n) => (newest = n),
  });
  await vi.runAllTimersAsync();
  await over;
  const requests = fetch.mock.calls as unknown as [Request][];
  expect(requests.map(([request]) => new URL(request.url).search)).toEqual([
    "?after=0",
    "?after=7",
  ]);
});
