import type { Message } from "@/api/types";
import type { Series } from "@/charts/series";

type Trial = Message["Trial"];
type Bracket = NonNullable<Message["Search"]["brackets"]>[number];

/** What became of a trial at a rung. */
export type Outcome = "went on" | "stopped" | "done" | "failed" | "on its way";

/** A trial that came to a rung. */
export interface Arrival {
  trialId: number;
  /** What it reported there first; undefined where that is not known. */
  metric: number | undefined;
  outcome: Outcome;
}

/** A rung of any bracket, and who came there. */
export interface Step {
  length: number;
  /** The brackets that have it, from 1. */
  brackets: number[];
  /** The best first; those without a metric last. */
  arrivals: Arrival[];
}

const ENDED: Record<string, Outcome> = {
  STATE_COMPLETED: "stopped",
  STATE_CANCELED: "stopped",
  STATE_ERROR: "failed",
};

function outcomeOf(
  { totalBatchesProcessed: at = 0, state = "STATE_UNSPECIFIED" }: Trial,
  next?: number,
): Outcome {
  if (next === undefined) return state === "STATE_ERROR" ? "failed" : "done";
  if (at >= next) return "went on";
  return ENDED[state] ?? "on its way";
}

/** The first value of a curve at this length or later. */
function metricAt(curve: Series | undefined, length: number): number | undefined {
  const i = curve ? Array.from(curve.x).findIndex((x) => x >= length) : -1;
  const value = curve?.y[i];
  return value === undefined || Number.isNaN(value) ? undefined : value;
}

/**
 * Who came to which rung, the longest first, and what became of them there. Brackets share rungs, and the
 * API counts by bracket without saying who is in which: a trial that passes a rung of another bracket
 * "went on" there, too.
 *
 * @param curves of the searcher's metric over batches, one for each trial, whose id is its own.
 */
export function stepsOf(
  brackets: readonly Bracket[],
  trials: readonly Trial[],
  curves: readonly Series[],
  isSmallerBetter: boolean,
): Step[] {
  const of = new Map<number, number[]>();
  brackets.forEach(({ rungs }, i) =>
    rungs?.forEach(({ length = 0 }) => of.set(length, [...(of.get(length) ?? []), i + 1])),
  );
  const byId = new Map(curves.map((curve) => [curve.id, curve]));
  const lengths = [...of.keys()].sort((a, b) => a - b);
  const worst = isSmallerBetter ? Infinity : -Infinity;
  const steps = lengths.map((length, i): Step => {
    const arrivals = trials
      .filter(({ totalBatchesProcessed: at = 0 }) => at >= length)
      .map((trial) => ({
        trialId: trial.id ?? 0,
        metric: metricAt(byId.get(String(trial.id)), length),
        outcome: outcomeOf(trial, lengths[i + 1]),
      }))
      .sort(({ metric: a = worst }, { metric: b = worst }) =>
        a === b ? 0 : a < b === isSmallerBetter ? -1 : 1,
      );
    return { length, brackets: of.get(length) ?? [], arrivals };
  });
  return steps.reverse();
}
