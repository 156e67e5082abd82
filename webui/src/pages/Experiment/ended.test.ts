import { expect, it } from "vitest";
import { stepsOf } from "./ended";

it("tells which trials came to which rung and no further", () => {
  const trials = [5, 40, 150, 149, 600].map((totalBatchesProcessed, id) => ({
    id,
    totalBatchesProcessed,
  }));
  const steps = stepsOf([37, 150, 600, 150, 600], trials);
  expect(steps.map(({ length, trials: all }) => [length, all.map(({ id }) => id)])).toEqual([
    [600, [4]],
    [150, [2]],
    [37, [1, 3]],
    [0, [0]],
  ]);
});
