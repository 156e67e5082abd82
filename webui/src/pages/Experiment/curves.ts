import { collectValues, type ReportedPoint } from "@/api/liveQueries";
import type { Message } from "@/api/types";
import { parseReported, selectInvalid, toY } from "@/charts/points";
import { mergeOrder, downsample } from "@/charts/merge";
import type { Series } from "@/charts/series";

type Trial = NonNullable<Message["TrialsSampleResponse"]["trials"]>[number];

/** The maximum number of curves and of points per curve; a growing curve may have twice as many points. */
export const MAX_CURVES = 500;
export const MAX_POINTS = 1000;

/** Converts sampled trials in column format to curves over batches. */
export function toSeries(trials: readonly Trial[]): Series[] {
  return trials.map((trial, rank) => {
    const { batches = [], values = [] } = trial.columns ?? {};
    const numbers = values.map(parseReported);
    const id = trial.trialId ?? 0;
    return {
      id: String(id),
      label: `trial ${id}`,
      rank,
      x: Float64Array.from(batches),
      y: Float64Array.from(numbers, toY),
      ...selectInvalid(batches, numbers),
    };
  });
}

/** Adds new reports to the curves. Trials without a curve get one, up to the maximum. */
export function addToCurves(
  series: Series[],
  points: readonly ReportedPoint[],
  metric: { group: string; name: string },
): Series[] {
  const reported = collectValues(points, metric, ({ values }) =>
    parseReported(values?.[metric.name]),
  );
  if (reported.size === 0) return series;
  const next = series.map((each) => {
    const added = reported.get(Number(each.id));
    reported.delete(Number(each.id));
    return added ? mergeCurve(each, added) : each;
  });
  for (const [id, added] of [...reported].slice(0, Math.max(0, MAX_CURVES - next.length))) {
    const x = new Float64Array();
    const y = new Float64Array();
    next.push(mergeCurve({ id: String(id), label: `trial ${id}`, x, y, rank: next.length }, added));
  }
  return next;
}

function mergeCurve(
  { invalid: known = new Map(), ...series }: Series,
  added: ReadonlyMap<number, number | undefined>,
): Series {
  const newX = [...added.keys()];
  const newY = [...added.values()].map(toY);
  let order = mergeOrder(series.x, newX);
  const getY = (index: number) => (index < 0 ? newY[-1 - index] : series.y[index]) ?? NaN;
  if (order.length > 2 * MAX_POINTS) {
    order = downsample(order.map(getY), MAX_POINTS).map((i) => order[i] ?? 0);
  }
  const x = Float64Array.from(order, (p) => (p < 0 ? newX[-1 - p] : series.x[p]) ?? NaN);
  // Later reports replace earlier ones at the same batches.
  const kept = [...known].filter(([at]) => !added.has(at));
  const fresh = selectInvalid(newX, [...added.values()]).invalid ?? [];
  const invalid = new Map([...kept, ...fresh]);
  return { ...series, x, y: Float64Array.from(order, getY), ...(invalid.size > 0 && { invalid }) };
}

/** Gives each curve a stable colour by the order in which the trials were created. */
export function assignRanks(series: readonly Series[], trialIds: readonly number[]): Series[] {
  const ranks = new Map([...trialIds].sort((a, b) => a - b).map((id, rank) => [String(id), rank]));
  return series.map((each) => ({ ...each, rank: ranks.get(each.id) ?? each.rank }));
}

/**
 * The metric that is shown first: the searcher metric of validations, before the first validation of training;
 * else the loss; else any of validations, of training or other.
 */
export function firstMetric<M extends { group: string; name: string }>(
  metrics: readonly M[],
  searcherMetric: string | undefined,
): M | undefined {
  const find = (group: string, name?: string) =>
    metrics.find((m) => m.group === group && (name === undefined || m.name === name));
  return (
    find("validation", searcherMetric ?? "") ??
    find("training", searcherMetric ?? "") ??
    find("validation", "loss") ??
    find("training", "loss") ??
    find("validation") ??
    find("training") ??
    metrics[0]
  );
}
