import type { Series } from "./series";

/** A metric report of the API. */
export interface Point {
  batches?: number;
  epoch?: number;
  time?: string;
  values?: object;
}

/** The reported value of a metric. */
export const getValue = (point: Point, metric: string): unknown =>
  (point.values as Record<string, unknown> | undefined)?.[metric];

/** The x axis of a chart. */
export type XAxis = "batches" | "epochs" | "time";
export const X_AXES: readonly XAxis[] = ["batches", "epochs", "time"];

/** A reported value; the API sends NaN and infinities as texts. Undefined for other texts, lists and objects. */
export function parseReported(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  const isInvalid = value === "NaN" || value === "Infinity" || value === "-Infinity";
  return isInvalid ? Number(value) : undefined;
}

/** A value to draw: infinities are gaps, like NaN. */
export const toY = (value: number | undefined) =>
  value !== undefined && Number.isFinite(value) ? value : NaN;

/** The values that are NaN or infinite, by their x; none as an empty object, to be spread into a series. */
export function selectInvalid(
  x: ArrayLike<number>,
  values: readonly (number | undefined)[],
): Pick<Series, "invalid"> {
  const invalid = new Map<number, number>();
  values.forEach((value, i) => {
    if (value !== undefined && !Number.isFinite(value)) invalid.set(x[i] ?? NaN, value);
  });
  return invalid.size > 0 ? { invalid } : {};
}

/**
 * The columns of a metric's curve. Time is in seconds since the first point. Without reported epochs the
 * columns are empty.
 */
export function toColumns(
  points: readonly Point[],
  metric: string,
  axis: XAxis,
): { x: Float64Array; y: Float64Array } & Pick<Series, "invalid"> {
  const first = Date.parse(points[0]?.time ?? "");
  const x = Float64Array.from(points, (point) => {
    if (axis === "batches") return point.batches ?? 0;
    if (axis === "epochs") return point.epoch ?? NaN;
    return (Date.parse(point.time ?? "") - first) / 1000;
  });
  if (!x.every(Number.isFinite)) return { x: new Float64Array(), y: new Float64Array() };
  const values = points.map((point) => parseReported(getValue(point, metric)));
  return { x, y: Float64Array.from(values, toY), ...selectInvalid(x, values) };
}

/** Whether a metric's values are texts, lists or objects, which no chart can show. */
export const areTexts = (points: readonly Point[], metric: string): boolean =>
  points.length > 0 &&
  points.every((point) => parseReported(getValue(point, metric)) === undefined);

/**
 * Sorts points by the axis: a system metric's report number restarts with each attempt, but time does not.
 */
export function sortByAxis(points: readonly Point[], axis: XAxis): readonly Point[] {
  if (axis !== "time") return points;
  return points
    .map((point) => ({ point, at: Date.parse(point.time ?? "") }))
    .sort((a, b) => a.at - b.at)
    .map(({ point }) => point);
}

/**
 * The first point at or after each time (milliseconds) on the axis; times without a later point are left out.
 */
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

/** Inserts a gap before each of the indices (ascending, above 0). */
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

/** Batches per second between consecutive points, except across the indices in `breaks`. */
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
 * The position on the axis at which a number of batches was reached, interpolated between downsampled points.
 * Positions outside the points are unknown and left out.
 */
export function toAxisPositions(
  points: readonly Point[],
  batches: readonly number[],
  axis: XAxis,
): readonly number[] {
  if (axis === "batches") return batches;
  const { x } = toColumns(points, "", axis);
  const positions = Array.from(x, (at, i) => ({ at, batches: points[i]?.batches ?? 0 }));
  positions.sort((a, b) => a.batches - b.batches);
  return batches.flatMap((target) => {
    const next = positions.findIndex((position) => position.batches >= target);
    const after = positions[next];
    const before = positions[next - 1];
    if (after?.batches === target) return [after.at];
    if (!after || !before) return [];
    const share = (target - before.batches) / (after.batches - before.batches);
    return [before.at + share * (after.at - before.at)];
  });
}
