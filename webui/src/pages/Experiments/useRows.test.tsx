import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import runs from "@goldens/runs.json";
import { useRows, type Search } from "./useRows";

const [run] = runs.answer.runs;

/** A master with 1,000 runs, whose ids are their places (from the end, if sorted so), but for pages that it holds back. */
function show(held: number[] = []) {
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
    const idOf = (place: number) => (body.sort === "id=desc" ? 1000 - place : place);
    const rows = Array.from({ length: 100 }, (_, i) => ({ ...run, id: idOf(body.offset + i) }));
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
  return { asked, hook, at, search, held };
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

it("takes no rows of other things for these", async () => {
  const { hook, at, search } = show([3]);
  await waitFor(() => expect(at(5)).toBe(5));
  hook.rerender({ of: search, from: 210 });
  await waitFor(() => expect(at(215)).toBe(215));
  hook.rerender({ of: { ...search, projectId: 9 }, from: 210 });
  expect(at(215)).toBeUndefined();
});
