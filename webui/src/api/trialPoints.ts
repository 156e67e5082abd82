import { mergeOrder, downsample } from "@/charts/merge";
import { toColumns, sortByAxis, type Point, type XAxis } from "@/charts/points";
import type { Series } from "@/charts/series";
import { collectValues, type ReportedPoint } from "./liveQueries";
import type { Metric } from "./trialQueries";

/** A trial's reports of one metric: downsampled, with time and epoch for any x axis. */
export interface TrialPoints {
  trialId: number;
  points: Point[];
}

/** The points that have the metric: the master returns null for reports without it. */
export const selectWithMetric = (points: Point[], metric: string): Point[] =>
  points.filter(({ values }) => (values as Record<string, unknown> | undefined)?.[metric] != null);

/**
 * Adds a trial's new reports of the metric to its points. More than twice `maxPoints` are
 * downsampled to `maxPoints`.
 */
export function addToPoints(
  points: Point[],
  reported: readonly ReportedPoint[],
  trialId: number,
  metric: Metric,
  maxPoints: number,
): Point[] {
  const added = selectPoints(reported, metric).get(trialId);
  return added ? mergePoints(points, added, metric, maxPoints) : points;
}

/** Does the same for several trials. A trial without earlier reports is added if `mayJoin` returns true. */
export function addToTrials(
  trials: TrialPoints[],
  reported: readonly ReportedPoint[],
  metric: Metric,
  maxPoints: number,
  mayJoin: (trialId: number, count: number) => boolean,
): TrialPoints[] {
  const added = selectPoints(reported, metric);
  if (added.size === 0) return trials;
  const next = trials.map((each) => {
    const own = added.get(each.trialId);
    added.delete(each.trialId);
    return own ? { ...each, points: mergePoints(each.points, own, metric, maxPoints) } : each;
  });
  for (const [trialId, own] of added) {
    if (mayJoin(trialId, next.length)) next.push({ trialId, points: [...own.values()] });
  }
  return next;
}

/**
 * The curves of trials over an axis, with the rank that `rankOf` returns. Trials without positions on the
 * axis are left out.
 */
export function buildSeries(
  trials: readonly TrialPoints[],
  metric: string,
  axis: XAxis,
  rankOf: (trialId: number, index: number) => number,
): Series[] {
  const all = trials.map(({ trialId, points }, index) => ({
    id: String(trialId),
    label: `trial ${trialId}`,
    rank: rankOf(trialId, index),
    ...toColumns(sortByAxis(points, axis), metric, axis),
  }));
  return all.filter(({ x }) => x.length > 0);
}

const selectPoints = (reported: readonly ReportedPoint[], metric: Metric) =>
  collectValues<Point>(reported, metric, ({ values, ...point }) => ({
    ...point,
    values: { [metric.name]: values?.[metric.name] },
  }));

function mergePoints(
  points: Point[],
  added: ReadonlyMap<number, Point>,
  metric: Metric,
  maxPoints: number,
) {
  const fresh = [...added.values()];
  const old = points.map(({ batches = 0 }) => batches);
  const next = mergeOrder(old, [...added.keys()]).flatMap(
    (index) => (index < 0 ? fresh[-1 - index] : points[index]) ?? [],
  );
  if (next.length <= 2 * maxPoints) return next;
  const { y } = toColumns(next, metric.name, "batches");
  return downsample(y, maxPoints).flatMap((i) => next[i] ?? []);
}
