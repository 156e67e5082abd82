import { renderHook, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { readFilters } from "./filters";
import { useLog } from "./useLog";

it("shows the last lines of a trial, which come after its end", async () => {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const send = (id: string) => {
    const text = `data: ${JSON.stringify({ result: { id, log: `line ${id}` } })}\n\n`;
    stream?.enqueue(new TextEncoder().encode(text));
  };
  const asked: string[] = [];
  vi.stubGlobal(
    "fetch",
    vi.fn((request: Request) => {
      asked.push(request.url);
      const body = request.url.includes("follow")
        ? new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) })
        : '{"result":{"id":"1","log":"line 1"}}\n';
      return Promise.resolve(new Response(body));
    }),
  );
  const filters = readFilters(new URLSearchParams());
  const { result, rerender } = renderHook(({ follow }) => useLog(5, filters, follow), {
    initialProps: { follow: true },
  });
  const ids = () => result.current.lines.map((line) => line.id);
  await waitFor(() => expect(stream).toBeDefined());
  send("2");
  await waitFor(() => expect(ids()).toEqual(["1", "2"]));
  rerender({ follow: false });
  send("3");
  // The end of the stream comes before its last lines are shown.
  stream?.close();
  await waitFor(() => expect(ids()).toEqual(["1", "2", "3"]));
  expect(asked.filter((url) => url.includes("follow"))).toHaveLength(1);
  expect(asked.at(-1)).toContain("afterId=1");
});
