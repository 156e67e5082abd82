import { expect, it } from "vitest";
import trials from "@goldens/trials.json";
import type { Message } from "@/api/types";
import { like } from "@/testing/goldens";
import { stepsOf } from "./rungs";

const trial = (id: number, at: number, state: Message["Trial"]["state"]) =>
  like<Message["Trial"]>(trials.answer.trials[0], { id, state, totalBatchesProcessed: at });
const curve = (id: number, x: number[], y: number[]) => ({
  ...{ id: String(id), label: "", rank: 0, x, y },
});
const brackets = [{ rungs: [{ length: 4 }, { length: 16 }] }, { rungs: [{ length: 16 }] }];

it("says who came to which rung, with which metric, and who went on", () => {
  const list = [
    trial(1, 4, "STATE_COMPLETED"),
    trial(2, 16, "STATE_COMPLETED"),
    trial(3, 4, "STATE_RUNNING"),
    trial(4, 5, "STATE_ERROR"),
    trial(5, 2, "STATE_RUNNING"),
  ];
  const curves = [
    curve(1, [2, 4], [9, 3]),
    curve(2, [4, 8, 16], [1, 5, 0.5]),
    curve(3, [4], [NaN]),
    curve(4, [5], [2]),
  ];
  expect(stepsOf(brackets, list, curves, true)).toEqual([
    {
      ...{ length: 16, brackets: [1, 2] },
      arrivals: [{ trialId: 2, metric: 0.5, outcome: "done" }],
    },
    {
      ...{ length: 4, brackets: [1] },
      arrivals: [
        { trialId: 2, metric: 1, outcome: "went on" },
        { trialId: 4, metric: 2, outcome: "failed" },
        { trialId: 1, metric: 3, outcome: "stopped" },
        { trialId: 3, metric: undefined, outcome: "on its way" },
      ],
    },
  ]);
});

it("puts the greatest first where greater is better, and what has none last", () => {
  const list = [1, 2, 3].map((id) => trial(id, 16, "STATE_COMPLETED"));
  const [last] = stepsOf(brackets, list, [curve(1, [16], [1]), curve(3, [16], [2])], false);
  expect(last?.arrivals.map(({ trialId }) => trialId)).toEqual([3, 1, 2]);
});
