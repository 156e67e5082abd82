import type { Curve } from "./paint";
import type { Plane } from "./columns";
import { lowerBound, findNearestIndex } from "./series";
import type { Range } from "./view";

/** A point of a curve near the pointer. */
export interface Near {
  curve: Curve;
  x: number;
  y: number;
  /** Vertical distance from the pointer in pixels. */
  distance: number;
}

/**
 * The `max` curves nearest above or below a position, each at its nearest point; nearest first. A curve counts up to
 * `reach` pixels beyond its ends, so that one with a single point can be hit. NaN and infinite values come last.
 */
export function findNearestCurves(
  curves: readonly Curve[],
  plane: Plane,
  at: { x: number; top: number },
  reach: number,
  max = 10,
): Near[] {
  const near: Near[] = [];
  for (const curve of curves) {
    const { x } = curve.series;
    const i = findNearestIndex(x, at.x);
    const nearest = x[i] ?? NaN;
    const isOutside = at.x < (x[0] ?? 0) || at.x > (x[x.length - 1] ?? 0);
    if (i < 0 || (isOutside && Math.abs(plane.toX(nearest) - plane.toX(at.x)) > reach)) continue;
    const invalid = curve.series.invalid?.get(nearest);
    const y = invalid ?? curve.y[i] ?? NaN;
    const distance = invalid === undefined ? Math.abs(plane.toY(y) - at.top) : Infinity;
    if (!Number.isNaN(distance)) near.push({ curve, x: nearest, y, distance });
  }
  const order = (a: number, b: number) => (a === b ? 0 : a - b);
  return near.sort((a, b) => order(a.distance, b.distance)).slice(0, max);
}

/**
 * The next x to the left (-1) or right (1) of `from` at which a curve has a point, at least one of `width`
 * pixels away; without `from`, the last or first visible one. Undefined if there is none.
 */
export function findNextPoint(
  curves: readonly Curve[],
  shown: Range,
  from: number | undefined,
  direction: number,
  width: number,
): number | undefined {
  const pixel = (shown[1] - shown[0]) / Math.max(1, width);
  const edge = direction > 0 ? shown[0] : shown[1];
  const limit = from === undefined ? edge : from + direction * pixel;
  const positions = curves.flatMap(({ series: { x } }) => {
    const i = lowerBound(x, limit);
    return x[direction > 0 || x[i] === limit ? i : i - 1] ?? [];
  });
  return positions
    .filter((position) => position >= shown[0] && position <= shown[1])
    .reduce<number | undefined>((best, position) => {
      if (best === undefined) return position;
      return direction > 0 ? Math.min(best, position) : Math.max(best, position);
    }, undefined);
}
