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

/** The sampled trials as curves over batches. */
export function toSeries(trials: readonly Trial[], metric: string): Series[] {
  return trials.map((trial, rank) => {
    const data = trial.data ?? [];
    const x = new Float64Array(data.length);
    const y = new Float64Array(data.length);
    for (const [i, point] of data.entries()) {
      const value = (point.values as Record<string, unknown> | undefined)?.[metric];
      x[i] = point.batches ?? 0;
      y[i] = typeof value === "number" ? value : NaN;
    }
    return { id: String(trial.trialId ?? 0), label: `trial ${trial.trialId ?? 0}`, x, y, rank };
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
