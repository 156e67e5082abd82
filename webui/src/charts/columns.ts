import { lowerBound } from "./series";

/** The mapping from values to screen pixels. */
export interface Plane {
  toX: (x: number) => number;
  toY: (y: number) => number;
  /** The visible range of x. */
  from: number;
  to: number;
}

/** The target of a polyline: a canvas Path2D or an SVG path. */
export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

const COLUMN = 0.5; // pixels that points are merged over
const DOT = 2; // half the width of a point without a line, in pixels

/**
 * Draws the visible part of a curve and its neighbouring points. Points in the same pixel column are reduced
 * to the first, smallest, largest and last, so that peaks stay visible and the cost depends on the width, not
 * on the number of points.
 */
export function drawCurve(
  pen: Pen,
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  plane: Plane,
): void {
  const begin = Math.max(0, lowerBound(x, plane.from) - 1);
  const end = Math.min(x.length, lowerBound(x, plane.to) + 2);
  let now = NaN;
  let lowest = 0;
  let highest = 0;
  let last = 0;
  let isDown = false;
  let isAlone = false;
  const finishColumn = () => {
    if (lowest !== highest) {
      pen.lineTo(now, lowest);
      pen.lineTo(now, highest);
      if (last !== highest) pen.lineTo(now, last);
    }
  };
  const finishRun = () => {
    if (!isDown) return;
    finishColumn();
    if (!isAlone || lowest !== highest) return;
    // A point between gaps has no line to either side.
    pen.moveTo(now - DOT, lowest);
    pen.lineTo(now + DOT, lowest);
  };
  for (let i = begin; i < end; i++) {
    const value = plane.toY(y[i] ?? NaN);
    if (!Number.isFinite(value)) {
      finishRun();
      isDown = false;
      now = NaN;
      continue;
    }
    const at = Math.round(plane.toX(x[i] ?? NaN) / COLUMN) * COLUMN;
    if (at === now) {
      lowest = Math.min(lowest, value);
      highest = Math.max(highest, value);
      last = value;
      continue;
    }
    if (isDown) finishColumn();
    if (isDown) pen.lineTo(at, value);
    else pen.moveTo(at, value);
    isAlone = !isDown;
    isDown = true;
    now = at;
    lowest = value;
    highest = value;
    last = value;
  }
  finishRun();
}
