import { expect, it, vi } from "vitest";
import { queryOf, readLines } from "./lines";

const answer = (text: string) =>
  vi.stubGlobal(
    "fetch",
    vi.fn().mockResolvedValue(new Response(text, { headers: { "X-Request-Id": "r1" } })),
  );

it("reads each message of a stream", async () => {
  answer('{"result":{"id":"1"}}\n{"result":{"id":"2"}}\n');
  expect(await readLines("/api/x", new AbortController().signal)).toEqual([
    { id: "1" },
    { id: "2" },
  ]);
});

it("tells an error that comes after messages", async () => {
  answer('{"result":{"id":"1"}}\n{"error":{"code":5,"reason":"NotFound","error":"gone"}}\n');
  await expect(readLines("/api/x", new AbortController().signal)).rejects.toMatchObject({
    message: "gone",
    reason: "NotFound",
    requestId: "r1",
  });
});

it("writes a query without what is not said", () => {
  expect(queryOf({ a: 1, b: undefined, c: "", d: ["x", "y&z"], e: false, f: true })).toBe(
    "a=1&d=x&d=y%26z&f=true",
  );
});
