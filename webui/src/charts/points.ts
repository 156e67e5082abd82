/** Values that were reported together, as the API says them. */
export interface Point {
  batches?: number;
  epoch?: number;
  time?: string;
  values?: object;
}

/** What a chart's x is. */
export type XAxis = "batches" | "epochs" | "time";
export const X_AXES: readonly XAxis[] = ["batches", "epochs", "time"];

/** The columns of one metric's curve. Time is in seconds from the first point; without epochs, there are none. */
export function toColumns(points: readonly Point[], metric: string, axis: XAxis) {
  const first = Date.parse(points[0]?.time ?? "");
  const x = Float64Array.from(points, (point) => {
    if (axis === "batches") return point.batches ?? 0;
    if (axis === "epochs") return point.epoch ?? NaN;
    return (Date.parse(point.time ?? "") - first) / 1000;
  });
  const y = Float64Array.from(points, (point) => {
    const value = (point.values as Record<string, unknown> | undefined)?.[metric];
    return typeof value === "number" ? value : NaN;
  });
  return x.every(Number.isFinite) ? { x, y } : { x: new Float64Array(), y: new Float64Array() };
}

/** The points in the order of the axis: a machine counts its reports anew with each run, time goes on. */
export function sortByAxis(points: readonly Point[], axis: XAxis): readonly Point[] {
  if (axis !== "time") return points;
  return points
    .map((point) => ({ point, at: Date.parse(point.time ?? "") }))
    .sort((a, b) => a.at - b.at)
    .map(({ point }) => point);
}

/** The first point at or after each time (milliseconds) on the axis; times after which there is none are left out. */
export function findPositions(
  points: readonly Point[],
  times: readonly number[],
  axis: XAxis,
): { at: number; index: number }[] {
  const { x } = toColumns(points, "", axis);
  return times.flatMap((time) => {
    const index = points.findIndex((point) => Date.parse(point.time ?? "") >= time);
    return index < 0 || index >= x.length ? [] : { at: x[index] ?? 0, index };
  });
}

/** The columns with a gap before each of the indices (ascending, above 0). */
export function withGaps(
  { x, y }: { x: Float64Array; y: Float64Array },
  indices: readonly number[],
): { x: Float64Array; y: Float64Array } {
  const out = { x: [...x], y: [...y] };
  for (const index of [...new Set(indices)].reverse()) {
    if (index < 1) continue;
    out.x.splice(index, 0, ((x[index - 1] ?? 0) + (x[index] ?? 0)) / 2);
    out.y.splice(index, 0, NaN);
  }
  return { x: Float64Array.from(out.x), y: Float64Array.from(out.y) };
}

/** Batches a second between neighbouring points, on the axis: how fast training was. Not across the indices in `breaks`. */
export function computeThroughput(
  points: readonly Point[],
  axis: XAxis,
  breaks: readonly number[] = [],
) {
  const { x } = toColumns(points, "", axis);
  const y = Float64Array.from(x, (_, i) => {
    const before = points[i - 1];
    const now = points[i];
    const batches = (now?.batches ?? 0) - (before?.batches ?? 0);
    const seconds = (Date.parse(now?.time ?? "") - Date.parse(before?.time ?? "")) / 1000;
    return before && !breaks.includes(i) && batches > 0 && seconds > 0 ? batches / seconds : NaN;
  });
  return { x, y };
}

/**
 * Where on the axis so many batches were done: at the point that says so, or between its neighbours, as
 * points are downsample out. Before the first and after the last point nothing is known.
 */
export function toAxisPositions(
  points: readonly Point[],
  batches: readonly number[],
  axis: XAxis,
): readonly number[] {
  if (axis === "batches") return batches;
  const { x } = toColumns(points, "", axis);
  const places = Array.from(x, (at, i) => ({ at, batches: points[i]?.batches ?? 0 }));
  places.sort((a, b) => a.batches - b.batches);
  return batches.flatMap((wanted) => {
    const next = places.findIndex((place) => place.batches >= wanted);
    const after = places[next];
    const before = places[next - 1];
    if (after?.batches === wanted) return [after.at];
    if (!after || !before) return [];
    const share = (wanted - before.batches) / (after.batches - before.batches);
    return [before.at + share * (after.at - before.at)];
  });
}
