import type { Message } from "@/api/types";

type Trial = Message["Trial"];

/** Trials that have come to a length of a rung, and to no later one. */
export interface Step {
  /** 0: before the first rung. */
  length: number;
  trials: Trial[];
}

/** Which trials came how far, by the lengths of all brackets' rungs, the longest first. */
export function stepsOf(lengths: readonly number[], trials: readonly Trial[]): Step[] {
  const rungs = [...new Set([0, ...lengths])].sort((a, b) => b - a);
  const steps = rungs.map((length): Step => ({ length, trials: [] }));
  for (const trial of trials) {
    const at = trial.totalBatchesProcessed ?? 0;
    steps.find(({ length }) => at >= length)?.trials.push(trial);
  }
  return steps.filter((step) => step.trials.length > 0);
}
