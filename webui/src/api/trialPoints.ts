import { mergePlaces, thinned } from "@/charts/merge";
import { columnsOf, inOrder, type Point, type XAxis } from "@/charts/points";
import type { Series } from "@/charts/series";
import { valuesOf, type ReportedPoint } from "./reported";
import type { Metric } from "./trialQueries";

/** What a trial has reported of one metric: thinned out, but with time and epoch, for any x. */
export interface TrialPoints {
  trialId: number;
  points: Point[];
}

/** The points with what the trial has reported of the metric since; of more than twice `most`, `most` stay. */
export function addToPoints(
  points: Point[],
  reported: readonly ReportedPoint[],
  trialId: number,
  metric: Metric,
  most: number,
): Point[] {
  const added = pointsIn(reported, metric).get(trialId);
  return added ? grown(points, added, metric, most) : points;
}

/**
 * The same of several trials. Who has reported nothing before joins them if `mayJoin` says so.
 */
export function addToTrials(
  trials: TrialPoints[],
  reported: readonly ReportedPoint[],
  metric: Metric,
  most: number,
  mayJoin: (trialId: number, count: number) => boolean,
): TrialPoints[] {
  const added = pointsIn(reported, metric);
  if (added.size === 0) return trials;
  const next = trials.map((each) => {
    const own = added.get(each.trialId);
    added.delete(each.trialId);
    return own ? { ...each, points: grown(each.points, own, metric, most) } : each;
  });
  for (const [trialId, own] of added) {
    if (mayJoin(trialId, next.length)) next.push({ trialId, points: [...own.values()] });
  }
  return next;
}

/** The curves of trials over an axis, each of the rank that `rankOf` says; who has no place on the axis has none. */
export function seriesOf(
  trials: readonly TrialPoints[],
  metric: string,
  axis: XAxis,
  rankOf: (trialId: number, place: number) => number,
): Series[] {
  const all = trials.map(({ trialId, points }, place) => ({
    id: String(trialId),
    label: `trial ${trialId}`,
    rank: rankOf(trialId, place),
    ...columnsOf(inOrder(points, axis), metric, axis),
  }));
  return all.filter(({ x }) => x.length > 0);
}

const pointsIn = (reported: readonly ReportedPoint[], metric: Metric) =>
  valuesOf<Point>(reported, metric, ({ values, ...point }) => ({
    ...point,
    values: { [metric.name]: values?.[metric.name] },
  }));

function grown(points: Point[], added: ReadonlyMap<number, Point>, metric: Metric, most: number) {
  const fresh = [...added.values()];
  const old = points.map(({ batches = 0 }) => batches);
  const next = mergePlaces(old, [...added.keys()]).flatMap(
    (place) => (place < 0 ? fresh[-1 - place] : points[place]) ?? [],
  );
  if (next.length <= 2 * most) return next;
  const { y } = columnsOf(next, metric.name, "batches");
  return thinned(y, most).flatMap((i) => next[i] ?? []);
}
