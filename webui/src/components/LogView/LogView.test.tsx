import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { giveSize } from "@/testing/pages";
import { LogView } from "./LogView";
import { trialLog } from "./source";
import type { LogLine } from "./window";

const zone = process.env.TZ;
beforeAll(() => {
  process.env.TZ = "Asia/Tokyo";
});
afterAll(() => {
  process.env.TZ = zone;
});
beforeEach(giveSize);

/** Shows the log of trial 5 from a fake master that has these lines. */
function show(lines: LogLine[], at = "/") {
  const queries: URLSearchParams[] = [];
  vi.stubGlobal("fetch", (request: Request) => {
    const { searchParams } = new URL(request.url);
    queries.push(searchParams);
    const after = Number(searchParams.get("afterId") ?? -1);
    const before = Number(searchParams.get("beforeId") ?? Infinity);
    const levels = searchParams.getAll("levels");
    const found = lines.filter(
      ({ id, level = "" }) =>
        Number(id) > after &&
        Number(id) < before &&
        (levels.length === 0 || levels.includes(level)),
    );
    if (searchParams.has("orderBy")) found.reverse();
    const few = found.slice(0, Number(searchParams.get("limit") ?? found.length));
    const text = few.map((result) => JSON.stringify({ result })).join("\n");
    return Promise.resolve(new Response(searchParams.has("follow") ? "" : text));
  });
  const router = createMemoryRouter(
    [{ path: "/", element: <LogView source={trialLog(5)} follow={false} /> }],
    { initialEntries: [at] },
  );
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  const line = () => new URLSearchParams(router.state.location.search).get("line");
  const log = screen.getByRole("log");
  // jsdom sends no scroll events.
  let top = 0;
  Object.defineProperty(log, "scrollTop", {
    get: () => top,
    set: (to: number) => {
      top = to;
      queueMicrotask(() => {
        act(() => void log.dispatchEvent(new Event("scroll")));
      });
    },
  });
  return { router, queries, line, log };
}

/** Lines 1 to `count`; those in `errors` are errors. */
const manyLines = (count: number, errors: number[] = []) =>
  Array.from({ length: count }, (_, i): LogLine => {
    const level = errors.includes(i + 1) ? "LOG_LEVEL_ERROR" : "LOG_LEVEL_INFO";
    return { id: String(i + 1), log: `line ${i + 1}`, level };
  });

it("shows local times, and the date where it changes", async () => {
  show([
    { id: "1", log: "a", timestamp: "2026-01-31T14:59:59.000Z" },
    { id: "2", log: "b", timestamp: "2026-01-31T15:00:00.250Z" },
    { id: "3", log: "c", timestamp: "2026-01-31T15:00:01.000Z" },
  ]);
  await screen.findByText("a");
  const [first, midnight, last] = screen.getAllByTitle(/link to this line/);
  expect(first).toHaveTextContent(/^2026-01-31 23:59:59.000$/);
  expect(midnight).toHaveTextContent(/^2026-02-01 00:00:00.250$/);
  expect(midnight).toHaveAttribute("title", "2026-02-01T00:00:00.250+09:00: link to this line");
  expect(last).toHaveTextContent(/^00:00:01.000$/);
});

it("opens at the line in the address and reads the lines around it", async () => {
  const { queries, log } = show(manyLines(3000), "/?line=1500");
  const selected = await screen.findByText("line 1500");
  expect(selected.parentElement).toHaveAttribute("aria-current", "true");
  expect(queries.some((query) => query.get("beforeId") === "1500")).toBe(true);
  expect(queries.some((query) => query.get("orderBy") && !query.has("beforeId"))).toBe(false);
  // In the middle of 600 pixels, after 500 lines of 20 pixels.
  expect(log.scrollTop).toBe(500 * 20 - 300);
});

it("selects a line by its time and clears the selection", async () => {
  const { line } = show([{ id: "7", log: "a", timestamp: "2026-01-31T14:59:59.000Z" }]);
  await userEvent.click(await screen.findByText("23:59:59.000"));
  expect(line()).toBe("7");
  await userEvent.click(screen.getByRole("button", { name: "Clear selection" }));
  expect(line()).toBeNull();
});

it("jumps between errors, counts a traceback as one, and reports the last", async () => {
  const { line } = show(manyLines(2000, [100, 900, 901, 902, 1500]), "/?line=1");
  const next = await screen.findByRole("button", { name: "Next error" });
  const back = screen.getByRole("button", { name: "Previous error" });
  const press = async (button: HTMLElement, to: string) => {
    await userEvent.click(button);
    await waitFor(() => expect(line()).toBe(to));
    await screen.findByText(`line ${to}`);
  };
  await press(next, "100");
  await press(next, "900");
  await press(next, "1500");
  await userEvent.click(next);
  expect(await screen.findByText("No later errors")).toBeInTheDocument();
  await press(back, "902");
  await press(back, "100");
});

it("shows the lines around a filtered line", async () => {
  const { router, log } = show(manyLines(100, [80]), "/?level=ERROR&line=80");
  await screen.findByText("line 80");
  expect(screen.queryByText("line 79")).toBeNull();
  expect(log.scrollTop).toBe(0);
  await userEvent.click(screen.getByRole("button", { name: "Show all lines" }));
  expect(await screen.findByText("line 79")).toBeInTheDocument();
  expect(log.scrollTop).toBe(79 * 20 - 300);
  expect(router.state.location.search).toBe("?line=80");
});

/** A progress bar of many lines in one row, after some `first` lines. */
const bar = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i): LogLine => ({
    id: String(i + 1),
    log: i < first ? `first ${i}` : `${i}%\r`,
  }));

it("reads ten portions of a long progress bar, and more on request", async () => {
  const { queries } = show(bar(30_000));
  const more = await screen.findByRole("button", { name: "Load earlier lines" });
  const count = () => queries.filter((query) => query.has("beforeId")).length;
  await waitFor(() => expect(more).toBeEnabled());
  expect(count()).toBe(10);
  await userEvent.click(more);
  await waitFor(() => expect(count()).toBe(20));
});

it("continues a short log from its start to its end", async () => {
  show(bar(3000, 5), "/?line=1");
  expect(await screen.findByText("2999%")).toBeInTheDocument();
  expect(screen.getByText("first 0")).toBeInTheDocument();
});
