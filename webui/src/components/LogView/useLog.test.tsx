import type { ReactNode } from "react";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { prefetchLog } from "./prefetch";
import { readFilters } from "./filters";
import { useLog } from "./useLog";

const within =
  (client: QueryClient) =>
  ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );

it("shows the last lines of a trial when they arrive after its end", async () => {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const send = (id: string) => {
    const text = `data: ${JSON.stringify({ result: { id, log: `line ${id}` } })}\n\n`;
    stream?.enqueue(new TextEncoder().encode(text));
  };
  const requests: string[] = [];
  vi.stubGlobal(
    "fetch",
    vi.fn((request: Request) => {
      requests.push(request.url);
      const body = request.url.includes("follow")
        ? new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) })
        : '{"result":{"id":"1","log":"line 1"}}\n';
      return Promise.resolve(new Response(body));
    }),
  );
  const filters = readFilters(new URLSearchParams());
  const { result, rerender } = renderHook(
    ({ follow }) => useLog("/api/v1/trials/5/logs", filters, follow),
    {
      initialProps: { follow: true },
      wrapper: within(new QueryClient()),
    },
  );
  const ids = () => result.current.lines.map((line) => line.id);
  await waitFor(() => expect(stream).toBeDefined());
  send("2");
  await waitFor(() => expect(ids()).toEqual(["1", "2"]));
  rerender({ follow: false });
  send("3");
  // The stream ends before its last lines are shown.
  stream?.close();
  await waitFor(() => expect(ids()).toEqual(["1", "2", "3"]));
  expect(requests.filter((url) => url.includes("follow"))).toHaveLength(1);
  expect(requests.at(-1)).toContain("afterId=1");
});

it.each(["", "line=7", "level=ERROR&line=7"])(
  "reads prefetched lines only once at ?%s",
  async (at) => {
    const requests: string[] = [];
    vi.stubGlobal("fetch", (request: Request) => {
      requests.push(request.url);
      const id = request.url.includes("beforeId") ? "6" : "7";
      return Promise.resolve(new Response(`{"result":{"id":"${id}"}}\n`));
    });
    const client = new QueryClient();
    const params = new URLSearchParams(at);
    prefetchLog(client, "/api/v1/trials/5/logs", params);
    const ahead = requests.length;
    expect(ahead).toBe(params.has("line") ? 2 : 1);
    const line = params.get("line") ?? undefined;
    const { result } = renderHook(
      () => useLog("/api/v1/trials/5/logs", readFilters(params), false, line),
      {
        wrapper: within(client),
      },
    );
    await waitFor(() => expect(result.current.lines.at(-1)?.id).toBe("7"));
    expect(requests.slice(ahead).filter((url) => !url.includes("follow"))).toEqual([]);
  },
);

it("shows errors of prefetched and direct reads", async () => {
  const refusal = { error: { reason: "NotFound", error: "no trial 5" } };
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json(refusal, { status: 404 })));
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  prefetchLog(client, "/api/v1/trials/5/logs", new URLSearchParams());
  const { result } = renderHook(
    () => useLog("/api/v1/trials/5/logs", readFilters(new URLSearchParams()), false),
    {
      wrapper: within(client),
    },
  );
  await waitFor(() => expect(result.current.error?.message).toContain("no trial 5"));
});
