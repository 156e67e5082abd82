import type { Curve } from "./paint";
import type { Plane } from "./columns";
import { nearestIndex } from "./series";

/** A point of a curve near the pointer. */
export interface Near {
  curve: Curve;
  x: number;
  y: number;
  /** Pixels from the pointer, up or down. */
  distance: number;
}

/** The `most` curves that lie nearest above or below a place, each at its point nearest to it; nearest first. */
export function nearestCurves(
  curves: readonly Curve[],
  plane: Plane,
  at: { x: number; top: number },
  most = 10,
): Near[] {
  const near: Near[] = [];
  for (const curve of curves) {
    const { x } = curve.series;
    const i = nearestIndex(x, at.x);
    if (i < 0 || at.x < (x[0] ?? 0) || at.x > (x[x.length - 1] ?? 0)) continue;
    const y = curve.y[i] ?? NaN;
    const distance = Math.abs(plane.toY(y) - at.top);
    if (Number.isFinite(distance)) near.push({ curve, x: x[i] ?? NaN, y, distance });
  }
  return near.sort((a, b) => a.distance - b.distance).slice(0, most);
}
