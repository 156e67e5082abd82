import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createRefresher } from "./useRefresh";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Observes a query that takes `ms` and returns the number of its calls. */
function follow(ms: number) {
  const client = new QueryClient();
  let calls = 0;
  const queryFn = async () => {
    const mine = ++calls;
    await later(ms);
    return mine;
  };
  const seen: unknown[] = [];
  const observer = new QueryObserver(client, { queryKey: ["k"], queryFn });
  observer.subscribe(({ data }) => data !== seen.at(-1) && seen.push(data));
  return { client, seen, calls: () => calls };
}

it("completes fetches despite frequent news", async () => {
  const { client, seen } = follow(150);
  await vi.advanceTimersByTimeAsync(200);
  const renewal = createRefresher(client, { queryKey: ["k"] }, 100);
  for (let i = 0; i < 20; i++) {
    renewal.news();
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});

it("refetches after a fetch that started before the news", async () => {
  const { client, seen } = follow(500);
  const renewal = createRefresher(client, { queryKey: ["k"] }, 100);
  renewal.news();
  await vi.advanceTimersByTimeAsync(2000);
  expect(seen).toEqual([1, 2]);
});

it("cancels a scheduled refresh on stop", async () => {
  const { client, calls } = follow(10);
  const renewal = createRefresher(client, { queryKey: ["k"] }, 100);
  await vi.advanceTimersByTimeAsync(50);
  renewal.news();
  renewal.stop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(calls()).toBe(1);
});
