import { getStroke } from "./colours";
import { drawCurve, type Plane } from "./columns";
import { smooth } from "./smooth";
import { computeExtent, lowerBound, type Series } from "./series";
import { resolveColour } from "./theme";

/** The drawn values of a series, and the raw values behind them. */
export interface Curve {
  series: Series;
  y: ArrayLike<number>;
  /** The reported values, if `y` is smoothed. */
  raw?: ArrayLike<number>;
}

/** The curves of series that are not hidden. */
export function toCurves(
  series: readonly Series[],
  hidden: ReadonlySet<string>,
  weight: number,
): Curve[] {
  return series
    .filter((each) => !hidden.has(each.id))
    .map((each) =>
      weight > 0
        ? { series: each, y: smooth(each.y, weight), raw: each.y }
        : { series: each, y: each.y },
    );
}

/** The part of a canvas in which curves are drawn, in canvas pixels, and the values at its edges. */
export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
  x: readonly [number, number];
  y: readonly [number, number];
  isLog: boolean;
}

/** Maps values to pixels. On a logarithmic axis values that are not positive map to NaN. */
export function toPlane(area: Area): Plane {
  const [from, to] = area.x;
  const height = (value: number) => (area.isLog ? Math.log10(value > 0 ? value : NaN) : value);
  const lowest = height(area.y[0]);
  const perX = area.width / (to - from || 1);
  const perY = area.height / (height(area.y[1]) - lowest || 1);
  const bottom = area.top + area.height;
  return {
    toX: (x) => area.left + (x - from) * perX,
    toY: area.isLog
      ? (y) => bottom - (height(y) - lowest) * perY
      : (y) => bottom - (y - lowest) * perY,
    from,
    to,
  };
}

// With more curves, thin solid lines are easier to distinguish than dashed ones and much faster to draw.
const MANY_CURVES = 60;

/** Draws all curves and their marks; `ratio` is the number of canvas pixels per CSS pixel. */
export function paint(
  context: CanvasRenderingContext2D,
  curves: readonly Curve[],
  area: Area,
  ratio: number,
): void {
  paintCurves(context, curves, area, ratio, curves.length);
  paintMarks(context, curves, area, ratio);
}

/** Draws some of `all` curves; the total number decides the style. */
export function paintCurves(
  context: CanvasRenderingContext2D,
  curves: readonly Curve[],
  area: Area,
  ratio: number,
  all: number,
): void {
  const plane = toPlane(area);
  const areMany = all > MANY_CURVES;
  const width = areMany ? 1 : 1.5 * ratio;
  within(context, area, () => {
    context.lineJoin = areMany ? "bevel" : "round";
    for (const { series, y, raw } of curves) {
      const { colour, dash } = getStroke(series.rank);
      context.strokeStyle = resolveColour(colour);
      context.setLineDash(areMany ? [] : dash.map((length) => length * ratio));
      if (raw) {
        context.globalAlpha = 0.25;
        strokeCurve(context, series.x, raw, plane, width);
        context.globalAlpha = 1;
      }
      strokeCurve(context, series.x, y, plane, width);
    }
  });
}

/** Draws the marks of curves: restarts, checkpoints, and values that are NaN or infinite. */
export function paintMarks(
  context: CanvasRenderingContext2D,
  curves: readonly Curve[],
  area: Area,
  ratio: number,
): void {
  const plane = toPlane(area);
  within(context, area, () => {
    paintRestarts(context, curves, area, plane, ratio);
    paintCheckpoints(context, curves, area, plane, ratio);
  });
  // Outside of the clipped part, so that marks at its edges are whole.
  paintInvalid(context, curves, area, plane, ratio);
}

function within(context: CanvasRenderingContext2D, area: Area, draw: () => void) {
  context.save();
  context.beginPath();
  context.rect(area.left, area.top, area.width, area.height);
  context.clip();
  draw();
  context.restore();
}

function strokeCurve(
  context: CanvasRenderingContext2D,
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  plane: Plane,
  width: number,
) {
  context.lineWidth = width;
  context.beginPath();
  drawCurve(context, x, y, plane);
  context.stroke();
}

/** A cross for each value that is NaN or infinite. */
function paintInvalid(
  context: CanvasRenderingContext2D,
  curves: readonly Curve[],
  area: Area,
  plane: Plane,
  ratio: number,
) {
  const size = CROSS * ratio;
  context.save();
  context.lineWidth = 1.5 * ratio;
  for (const { series } of curves) {
    if (!series.invalid) continue;
    context.strokeStyle = resolveColour(getStroke(series.rank).colour);
    context.beginPath();
    for (const [x, y] of locateInvalid(series, area, plane, ratio)) {
      context.moveTo(x - size, y - size);
      context.lineTo(x + size, y + size);
      context.moveTo(x - size, y + size);
      context.lineTo(x + size, y - size);
    }
    context.stroke();
  }
  context.restore();
}

/** Half the width of the cross that marks a NaN or infinite value, in pixels. */
export const CROSS = 3.5;

/**
 * The positions of the marks of values that are NaN or infinite: infinity at the top, others at the bottom. Marks
 * that would overlap are merged.
 */
export function locateInvalid(
  { invalid }: Series,
  area: Area,
  plane: Plane,
  ratio = 1,
): [x: number, y: number][] {
  const room = (CROSS + 2) * ratio;
  const latest = new Map<number, number>();
  const ascending = [...(invalid ?? [])].sort(([a], [b]) => a - b);
  return ascending.flatMap(([at, value]): [number, number][] => {
    const x = plane.toX(at);
    const y = value > 0 ? area.top + room : area.top + area.height - room;
    if (x < area.left || x > area.left + area.width) return [];
    if (x - (latest.get(y) ?? -Infinity) < 2 * CROSS * ratio) return [];
    latest.set(y, x);
    return [[x, y]];
  });
}

/** Draws the best value as a dotted line. */
export function paintBest(context: CanvasRenderingContext2D, area: Area, best: number): void {
  const y = toPlane(area).toY(best);
  if (!(y >= area.top && y <= area.top + area.height)) return;
  context.save();
  context.strokeStyle = resolveColour("--faint");
  context.setLineDash([2, 4]);
  context.beginPath();
  context.moveTo(area.left, y);
  context.lineTo(area.left + area.width, y);
  context.stroke();
  context.restore();
}

/** A small triangle on the x axis for each checkpoint. */
function paintCheckpoints(
  context: CanvasRenderingContext2D,
  curves: readonly Curve[],
  area: Area,
  plane: Plane,
  ratio: number,
) {
  const bottom = area.top + area.height;
  const size = 4 * ratio;
  for (const { series } of curves) {
    if (!series.checkpoints) continue;
    context.fillStyle = resolveColour(getStroke(series.rank).colour);
    for (const length of series.checkpoints) {
      const x = plane.toX(length);
      context.beginPath();
      context.moveTo(x - size, bottom);
      context.lineTo(x + size, bottom);
      context.lineTo(x, bottom - 1.5 * size);
      context.fill();
    }
  }
}

/** A dashed line across the plot with a mark at the top for each restart. */
function paintRestarts(
  context: CanvasRenderingContext2D,
  curves: readonly Curve[],
  area: Area,
  plane: Plane,
  ratio: number,
) {
  const positions = new Set(curves.flatMap(({ series }) => series.restarts ?? []));
  if (positions.size === 0) return;
  const colour = resolveColour("--failed");
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = ratio;
  context.setLineDash([3 * ratio, 3 * ratio]);
  for (const at of positions) {
    const x = Math.round(plane.toX(at)) + 0.5;
    context.beginPath();
    context.moveTo(x, area.top);
    context.lineTo(x, area.top + area.height);
    context.stroke();
    context.beginPath();
    context.moveTo(x - 4 * ratio, area.top);
    context.lineTo(x + 4 * ratio, area.top);
    context.lineTo(x, area.top + 6 * ratio);
    context.fill();
  }
  context.setLineDash([]);
}

/** The range of the values between two x, with a margin; [0, 1] without values. */
export function computeYRange(
  curves: readonly Curve[],
  from: number,
  to: number,
  isLog: boolean,
): [number, number] {
  let lowest = Infinity;
  let highest = -Infinity;
  for (const { series, y, raw } of curves) {
    for (const column of raw ? [y, raw] : [y]) {
      for (let i = lowerBound(series.x, from); i < column.length; i++) {
        if (!((series.x[i] ?? NaN) <= to)) break;
        const value = column[i] ?? NaN;
        if (!Number.isFinite(value) || (isLog && value <= 0)) continue;
        if (value < lowest) lowest = value;
        if (value > highest) highest = value;
      }
    }
  }
  if (lowest > highest) return isLog ? [0.1, 1] : [0, 1];
  if (isLog) return [lowest / 1.1, highest * 1.1];
  const room = (highest - lowest) * 0.04 || Math.abs(lowest) * 0.05 || 0.5;
  return [lowest - room, highest + room];
}

/** The x range of all curves; [0, 1] without curves. */
export function computeXRange(curves: readonly Curve[]): [number, number] {
  const [from, to] = computeExtent(curves.map(({ series }) => series.x)) ?? [0, 1];
  return from < to ? [from, to] : [from - 0.5, to + 0.5];
}
