import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import runs from "@goldens/runs.json";
import { ROWS_KEY, useRows, type Search } from "./useRows";

const [run] = runs.answer.runs;

/** A fake master with 1,000 runs, whose IDs are their positions in the sort order. Pages in `held` get no response. */
function show(held: number[] = [], broken: number[] = []) {
  const requests: { page: number; sort: string; signal: AbortSignal }[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const body = (await request.clone().json()) as { offset: number; sort: string };
    const page = body.offset / 100;
    requests.push({ page, sort: body.sort, signal: request.signal });
    if (held.includes(page)) {
      await new Promise((_, refuse) =>
        request.signal.addEventListener("abort", () => refuse(new Error("aborted"))),
      );
    }
    if (broken.includes(page)) {
      const error = { reason: "Unavailable", error: `no page ${page}` };
      return Response.json({ error }, { status: 503 });
    }
    const getId = (index: number) => (body.sort === "id=desc" ? 1000 - index : index);
    const rows = Array.from({ length: 100 }, (_, i) => ({ ...run, id: getId(body.offset + i) }));
    return Response.json({ runs: rows, pagination: { total: 1000 } });
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const search: Search = { kind: "runs", projectId: undefined, filter: "", sort: "id=asc" };
  const hook = renderHook(({ of, from }) => useRows(of, false, from, from + 30), {
    initialProps: { of: search, from: 0 },
    wrapper: ({ children }) => (
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    ),
  });
  const at = (index: number) => hook.result.current.rowAt(index)?.id;
  return { requests, hook, at, search, held, client };
}

it("prefetches in the direction of scrolling and aborts pages that were scrolled past", async () => {
  const { requests, hook, at, search } = show([2]);
  await waitFor(() => expect(at(5)).toBe(5));
  hook.rerender({ of: search, from: 110 });
  await waitFor(() => expect(requests.map(({ page }) => page)).toEqual([0, 1, 2, 3, 4]));
  const stale = requests.find(({ page }) => page === 2);
  expect(stale?.signal.aborted).toBe(false);
  hook.rerender({ of: search, from: 710 });
  await waitFor(() => expect(stale?.signal.aborted).toBe(true));
  await waitFor(() => expect(at(715)).toBe(715));
});

it("shows the previous rows until those of a new order are loaded", async () => {
  const { hook, at, search, held } = show();
  await waitFor(() => expect(at(5)).toBe(5));
  hook.rerender({ of: search, from: 310 });
  await waitFor(() => expect(at(315)).toBe(315));
  held.push(3);
  hook.rerender({ of: { ...search, sort: "id=desc" }, from: 310 });
  await waitFor(() => expect(at(5)).toBe(995));
  expect(at(315)).toBe(315);
});

it("shows no rows of another listing", async () => {
  const { hook, at, search } = show([3]);
  await waitFor(() => expect(at(5)).toBe(5));
  hook.rerender({ of: search, from: 210 });
  await waitFor(() => expect(at(215)).toBe(215));
  hook.rerender({ of: { ...search, projectId: 9 }, from: 210 });
  expect(at(215)).toBeUndefined();
});

it("refetches visible pages, and prefetched pages when they become visible", async () => {
  const { requests, hook, at, search, client } = show();
  const pages = () => requests.map(({ page }) => page);
  await waitFor(() => expect(at(5)).toBe(5));
  hook.rerender({ of: search, from: 310 });
  await waitFor(() => expect(pages()).toEqual([0, 1, 3, 4, 5, 6, 2]));
  await waitFor(() => expect(client.isFetching()).toBe(0));
  requests.length = 0;
  await client.invalidateQueries({ queryKey: ROWS_KEY });
  expect(pages()).toEqual([0, 3]);
  // Stale pages are refetched when they become visible.
  requests.length = 0;
  hook.rerender({ of: search, from: 410 });
  await waitFor(() => expect(pages()).toContain(4));
});

it("reports the error of a page only when the page is visible", async () => {
  const { requests, hook, at, search } = show([], [1]);
  await waitFor(() => expect(at(5)).toBe(5));
  await waitFor(() => expect(requests.map(({ page }) => page)).toEqual([0, 1]));
  await act(() => new Promise((done) => setTimeout(done, 50)));
  expect(hook.result.current.error).toBeNull();
  hook.rerender({ of: search, from: 110 });
  await waitFor(() => expect(hook.result.current.error?.message).toBe("no page 1"));
});
