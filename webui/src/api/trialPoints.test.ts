import { expect, it } from "vitest";
import { addToTrials, buildSeries, selectWithMetric } from "./trialPoints";

const metric = { group: "validation", name: "loss" };
const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
const report = (trialId: number, batches: number, loss: number) => ({
  trialId,
  batches,
  time: at(batches),
  epoch: batches / 2,
  group: "validation",
  values: { loss, other: 1 },
});

it("leaves out points without the metric", () => {
  const points = [
    { batches: 1, values: { loss: null } },
    { batches: 2, values: { loss: "NaN" } },
    { batches: 3, values: { loss: 0 } },
  ];
  expect(selectWithMetric(points, "loss").map(({ batches }) => batches)).toEqual([2, 3]);
});

it("adds reports to their trials and admits new trials if allowed", () => {
  const known = [{ trialId: 1, points: [{ batches: 1, time: at(1), values: { loss: 3 } }] }];
  const points = [report(1, 2, 2), report(2, 1, 9)];
  const alone = addToTrials(known, points, metric, 100, () => false);
  expect(alone.map(({ points }) => points.map(({ batches }) => batches))).toEqual([[1, 2]]);
  const both = addToTrials(known, points, metric, 100, (_, count) => count < 2);
  expect(both.map(({ trialId }) => trialId)).toEqual([1, 2]);
  expect(addToTrials(known, [], metric, 100, () => true)).toBe(known);
});

it("leaves out trials without positions on the axis", () => {
  const trials = addToTrials([], [report(4, 1, 3), report(4, 3, 2)], metric, 100, () => true);
  trials.push({ trialId: 5, points: [{ batches: 1, time: at(1), values: { loss: 1 } }] });
  const drawn = (axis: "epochs" | "time") =>
    buildSeries(trials, "loss", axis, (id) => id).map(({ id, x, rank }) => [
      id,
      [...Array.from(x)],
      rank,
    ]);
  expect(drawn("epochs")).toEqual([["4", [0.5, 1.5], 4]]);
  expect(drawn("time")).toEqual([
    ["4", [0, 2], 4],
    ["5", [0], 5],
  ]);
});
