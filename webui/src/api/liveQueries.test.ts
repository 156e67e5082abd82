import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { addToCurves, assignRanks } from "@/pages/Experiment/curves";
import { mergeOrder, downsample } from "@/charts/merge";
import type { Series } from "@/charts/series";
import {
  addNames,
  applyReported,
  liveQueryFilter,
  liveQuery,
  type ReportedPoint,
} from "./liveQueries";
import { createRefresher } from "./useRefresh";

const METRIC = { group: "validation", name: "loss" };
const point = (trialId: number, batches: number, loss: unknown): ReportedPoint => ({
  trialId,
  batches,
  group: "validation",
  values: { loss },
});
const shown = (series: readonly Series[]) =>
  series.map(({ id, x, y }) => [id, Array.from(x, (at, i) => [at, y[i]])] as const);

it("inserts reported points in order", () => {
  const series = addToCurves([], [point(7, 20, 2), point(7, 10, 1), point(9, 5, "NaN")], METRIC);
  expect(shown(series)).toEqual([
    [
      "7",
      [
        [10, 1],
        [20, 2],
      ],
    ],
    ["9", [[5, NaN]]],
  ]);
  const next = addToCurves(series, [point(7, 15, 3), point(7, 20, 4), point(7, 30, 5)], METRIC);
  expect(shown(next)[0]?.[1]).toEqual([
    [10, 1],
    [15, 3],
    [20, 4],
    [30, 5],
  ]);
  expect(next[1]).toBe(series[1]);
  const other = { trialId: 7, batches: 1, group: "training", values: { loss: 1 } };
  expect(addToCurves(next, [other, { ...other, group: "validation", values: {} }], METRIC)).toBe(
    next,
  );
  expect(mergeOrder([1, 3], [0, 3, 4])).toEqual([-1, 0, -2, -3]);
});

it("keeps the peaks when it downsamples a long curve", () => {
  const values = Array.from({ length: 5000 }, (_, i) => (i === 1234 ? 9 : i === 4321 ? -9 : i % 3));
  const kept = downsample(values, 100);
  expect(kept.length).toBeLessThanOrEqual(100);
  expect(kept).toEqual(expect.arrayContaining([0, 1234, 4321, 4999]));
  const points = values.map((value, i) => point(7, i, value));
  const [curve] = addToCurves([], points, METRIC);
  expect(curve?.x.length).toBeLessThanOrEqual(1000);
  expect(Array.from(curve?.y ?? [])).toEqual(expect.arrayContaining([9, -9]));
});

it("gives each trial a stable colour", () => {
  const curves = (ids: number[]) =>
    addToCurves(
      [],
      ids.map((id) => point(id, 1, 1)),
      METRIC,
    );
  const rankOf = (series: Series[]) => Object.fromEntries(series.map(({ id, rank }) => [id, rank]));
  expect(rankOf(assignRanks(curves([9, 7, 8]), [7, 8, 9]))).toEqual({ 7: 0, 8: 1, 9: 2 });
  expect(rankOf(assignRanks(curves([10, 8, 9, 7]), [7, 8, 9, 10]))).toMatchObject({
    7: 0,
    8: 1,
    9: 2,
  });
});

it("adds the names of new metrics", () => {
  const names = [METRIC];
  expect(addNames(names, [point(1, 1, 1)])).toBe(names);
  const fresh = { group: "training", values: { loss: 1, acc: 2 } };
  expect(addNames(names, [fresh, fresh])).toHaveLength(3);
});

/** A seeded generator of numbers from 0 to below 1 (mulberry32). */
function createRandom(seed: number) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

it("neither misses nor duplicates points for any order of reads, messages and losses", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.info(`seed ${seed}`);
  const random = createRandom(seed);
  const below = (n: number) => Math.floor(random() * n);
  for (let round = 0; round < 30; round++) {
    const stored = new Map<string, ReportedPoint>(); // by trial and batches; a later attempt replaces a point
    const sent: ReportedPoint[] = []; // by the stream, in this order
    const answers: (() => void)[] = []; // of reads in progress
    const all = () => addToCurves([], [...stored.values()], METRIC);
    const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
    const query = liveQuery<Series[]>(1, {
      queryKey: ["curves"],
      add: (series, points) => addToCurves(series, points, METRIC),
      // A response is created at one time and arrives later.
      read: () =>
        new Promise((resolve) => {
          answers.push(() => {
            const made = all();
            answers.push(() => resolve(made));
          });
        }),
    });
    const observer = new QueryObserver(client, { ...query, structuralSharing: false });
    const stop = observer.subscribe(() => undefined);
    const renewal = createRefresher(client, liveQueryFilter(1), 0);
    let position = 0;
    let isOpen = true;
    const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
    const begin = () => {
      isOpen = true;
      // Sometimes the master has discarded messages: it reports that, and everything is read again.
      if (random() < 0.3) {
        position = sent.length;
        renewal.news();
      }
    };
    for (let step = 0; step < 150; step++) {
      if (random() < 0.5) {
        const reported = point(1 + below(3), below(40), step);
        stored.set(`${reported.trialId} ${reported.batches}`, reported);
        sent.push(reported);
      }
      if (isOpen && random() < 0.4) {
        // The last message may arrive again.
        const from = Math.max(0, position - below(2));
        const until = Math.max(from, position + below(4));
        if (until > from) applyReported(client, 1, sent.slice(from, until));
        position = Math.max(position, Math.min(until, sent.length));
      }
      if (random() < 0.1) {
        if (isOpen) isOpen = false;
        else begin();
      }
      if (random() < 0.3) answers.splice(below(answers.length), 1)[0]?.();
      if (random() < 0.2) await settle();
    }
    if (!isOpen) begin();
    applyReported(client, 1, sent.slice(position));
    for (let i = 0; i < 30; i++) {
      answers.splice(0).forEach((answer) => answer());
      await settle();
    }
    const sorted = (series: readonly Series[]) =>
      shown(series).sort(([a], [b]) => Number(a) - Number(b));
    expect(sorted(client.getQueryData<Series[]>(["curves"]) ?? [])).toEqual(sorted(all()));
    stop();
    client.clear();
  }
});
