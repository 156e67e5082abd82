import { expect, it, vi } from "vitest";
import { toLines, buildQuery, readFirstMessage, readMessages } from "./messages";

const answer = (text: string) =>
  vi.stubGlobal(
    "fetch",
    vi.fn().mockResolvedValue(new Response(text, { headers: { "X-Request-Id": "r1" } })),
  );

it("reads each message of a stream", async () => {
  answer('{"result":{"id":"1"}}\n{"result":{"id":"2"}}\n');
  expect(await readMessages("/api/x", new AbortController().signal)).toEqual([
    { id: "1" },
    { id: "2" },
  ]);
});

it("reads the first message of a stream that continues", async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (to) => to.enqueue(new TextEncoder().encode('{"result":{"id":"1"}}\n')),
    cancel: () => {
      isCancelled = true;
    },
  });
  vi.stubGlobal("fetch", vi.fn().mockResolvedValue(new Response(body)));
  expect(await readFirstMessage("/api/x", new AbortController().signal)).toEqual({ id: "1" });
  expect(isCancelled).toBe(true);
});

it("joins lines across chunks", async () => {
  const pieces = ["a", "b\n", "\nc", "d\ne\nf", "g"].map((each) => new TextEncoder().encode(each));
  const body = new ReadableStream<Uint8Array>({
    pull: (to) => {
      const next = pieces.shift();
      if (next) to.enqueue(next);
      else to.close();
    },
  });
  const lines: string[] = [];
  for await (const line of toLines(body)) lines.push(line);
  expect(lines).toEqual(["ab", "", "cd", "e", "fg"]);
});

it("throws an error that follows messages", async () => {
  answer('{"result":{"id":"1"}}\n{"error":{"code":5,"reason":"NotFound","error":"gone"}}\n');
  await expect(readMessages("/api/x", new AbortController().signal)).rejects.toMatchObject({
    message: "gone",
    reason: "NotFound",
    requestId: "r1",
  });
});

it("leaves undefined fields out of a query", () => {
  expect(buildQuery({ a: 1, b: undefined, c: "", d: ["x", "y&z"], e: false, f: true })).toBe(
    "a=1&d=x&d=y%26z&f=true",
  );
});
