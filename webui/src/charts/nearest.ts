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

/** The `max` curves nearest above or below a position, each at its nearest point; nearest first. */
export function findNearestCurves(
  curves: readonly Curve[],
  plane: Plane,
  at: { x: number; top: number },
  max = 10,
): Near[] {
  const near: Near[] = [];
  for (const curve of curves) {
    const { x } = curve.series;
    const i = findNearestIndex(x, at.x);
    if (i < 0 || at.x < (x[0] ?? 0) || at.x > (x[x.length - 1] ?? 0)) continue;
    const y = curve.y[i] ?? NaN;
    const distance = Math.abs(plane.toY(y) - at.top);
    if (Number.isFinite(distance)) near.push({ curve, x: x[i] ?? NaN, y, distance });
  }
  return near.sort((a, b) => a.distance - b.distance).slice(0, max);
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
