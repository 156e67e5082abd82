import type { Message } from "@/api/types";
import type { Series } from "@/charts/series";

type Trial = NonNullable<Message["TrialsSampleResponse"]["trials"]>[number];

/** A trial's choice in a line: "lr 0.1, x 3". */
export function hparamsText(hparams: Record<string, unknown> | undefined): string {
  return Object.entries(hparams ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(", ");
}

/** The sampled trials, asked for as columns, as curves over batches. */
export function toSeries(trials: readonly Trial[]): Series[] {
  return trials.map((trial, rank) => {
    const { batches = [], values = [] } = trial.columns ?? {};
    // What is not finite comes as a text; there is nothing to draw.
    const y = Float64Array.from(values, (value) => (typeof value === "number" ? value : NaN));
    const id = trial.trialId ?? 0;
    return { id: String(id), label: `trial ${id}`, x: Float64Array.from(batches), y, rank };
  });
}

/** The metric that a page shows first: the searcher's of validation, else any. */
export function firstMetric<M extends { group: string; name: string }>(
  metrics: readonly M[],
  searcherMetric: string | undefined,
): M | undefined {
  return (
    metrics.find((m) => m.group === "validation" && m.name === searcherMetric) ??
    metrics.find((m) => m.group === "validation") ??
    metrics[0]
  );
}
