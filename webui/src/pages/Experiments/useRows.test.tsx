import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import runs from "@goldens/runs.json";
import { ROWS_KEY, useRows, type Search } from "./useRows";

const [run] = runs.answer.runs;

/** A master with 1,000 runs, whose ids are their places (from the end, if sorted so), but for pages that it holds back. */
function show(held: number[] = [], broken: number[] = []) {
  const asked: { page: number; sort: string; signal: AbortSignal }[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const body = (await request.clone().json()) as { offset: number; sort: string };
    const page = body.offset / 100;
    asked.push({ page, sort: body.sort, signal: request.signal });
    if (held.includes(page)) {
      await new Promise((_, refuse) =>
        request.signal.addEventListener("abort", () => refuse(new Error("aborted"))),
      );
    }
    if (broken.includes(page)) {
      const error = { reason: "Unavailable", error: `no page ${page}` };
      return Response.json({ error }, { status: 503 });
    }
    const getId = (place: number) => (body.sort === "id=desc" ? 1000 - place : place);
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
  const at = (place: number) => hook.result.current.rowAt(place)?.id;
  return { asked, hook, at, search, held, client };
}

it("reads ahead in the direction of scrolling, and gives up what was scrolled past", async () => {
  const { asked, hook, at, search } = show([2]);
  await waitFor(() => expect(at(5)).toBe(5));
  hook.rerender({ of: search, from: 110 });
  await waitFor(() => expect(asked.map(({ page }) => page)).toEqual([0, 1, 2, 3, 4]));
  const stale = asked.find(({ page }) => page === 2);
  expect(stale?.signal.aborted).toBe(false);
  hook.rerender({ of: search, from: 710 });
  await waitFor(() => expect(stale?.signal.aborted).toBe(true));
  await waitFor(() => expect(at(715)).toBe(715));
});

it("shows the rows that stood there last until those of another order are read", async () => {
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

it("reads again what is shown, and what was read ahead only once it is", async () => {
  const { asked, hook, at, search, client } = show();
  const pages = () => asked.map(({ page }) => page);
  await waitFor(() => expect(at(5)).toBe(5));
  hook.rerender({ of: search, from: 310 });
  await waitFor(() => expect(pages()).toEqual([0, 1, 3, 4, 5, 6, 2]));
  await waitFor(() => expect(client.isFetching()).toBe(0));
  asked.length = 0;
  await client.invalidateQueries({ queryKey: ROWS_KEY });
  expect(pages()).toEqual([0, 3]);
  // What is stale is read when it comes into sight.
  asked.length = 0;
  hook.rerender({ of: search, from: 410 });
  await waitFor(() => expect(pages()).toContain(4));
});

it("tells of a page that cannot be read once it is shown, and not before", async () => {
  const { asked, hook, at, search } = show([], [1]);
  await waitFor(() => expect(at(5)).toBe(5));
  await waitFor(() => expect(asked.map(({ page }) => page)).toEqual([0, 1]));
  await act(() => new Promise((done) => setTimeout(done, 50)));
  expect(hook.result.current.error).toBeNull();
  hook.rerender({ of: search, from: 110 });
  await waitFor(() => expect(hook.result.current.error?.message).toBe("no page 1"));
});
