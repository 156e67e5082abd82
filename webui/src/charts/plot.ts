import uPlot from "uplot";
import { createGradualPainter, drawPicture, type Picture } from "./gradual";
import { findNearestCurves, findNextPoint } from "./nearest";
import {
  computeXRange,
  computeYRange,
  paint,
  paintBest,
  toPlane,
  type Area,
  type Curve,
} from "./paint";
import { uplotOptions, type PlotOptions } from "./uplotOptions";
import { isSameRange, roundRange, type Range } from "./view";

/** A plot on the page. Call `destroy` when it is removed. */
export interface Plot {
  setCurves: (curves: readonly Curve[]) => void;
  /** Sets the value of the dotted line. */
  setBest: (best: number | undefined) => void;
  setZoom: (zoom: Range | undefined) => void;
  setSize: (width: number, height: number) => void;
  /** Moves the crosshair to the next point to the left (-1) or right (1), or vertically by some pixels. */
  step: (across: number, up?: number) => void;
  /** Zooms around the crosshair; a factor above 1 zooms out. */
  zoomBy: (factor: number) => void;
  /** Pans by a fraction of the visible width. */
  panBy: (share: number) => void;
  /** Resets the zoom. */
  reset: () => void;
  /** Removes the crosshair. */
  leave: () => void;
  destroy: () => void;
}

// From this number on, curves are painted over several frames; meanwhile the previous picture is shown at its
// new position.
const MANY = 50;

// Pixels from the crosshair within which the first and last point of a curve are near.
const REACH = 24;

// Pixels that a key moves the crosshair vertically.
const KEY_PIXELS = 12;

/** Creates a plot in `element`: uPlot's axes, crosshair and zoom, and our own fast painting. */
export function createPlot(element: HTMLElement, options: PlotOptions): Plot {
  let curves: readonly Curve[] = [];
  let best: number | undefined;
  let full: [number, number] = [0, 1];
  let picture: Picture | undefined;
  let requested: Area | undefined; // the area of the current or next picture
  let isMoving = false;
  let zoom: Range | undefined;
  let crosshair: { x: number; top: number } | undefined;
  let keyPosition: { left: number; top: number } | undefined; // the crosshair's position if a key moved it

  const toArea = (u: uPlot): Area => ({
    left: u.bbox.left,
    top: u.bbox.top,
    width: u.bbox.width,
    height: u.bbox.height,
    x: [u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1],
    y: [u.scales["y"]?.min ?? 0, u.scales["y"]?.max ?? 1],
    isLog: options.isLog,
  });

  const painter = createGradualPainter((painted, isWhole) => {
    // A partial picture does not replace a complete one, however old.
    if (!isWhole && picture) return;
    if (isWhole) {
      picture = painted;
      plot.redraw(false);
    } else drawPicture(plot.ctx, painted, toArea(plot));
  });

  const draw = (u: uPlot) => {
    const area = toArea(u);
    if (curves.length < MANY) paint(u.ctx, curves, area, devicePixelRatio);
    else drawMany(u.ctx, area);
    if (best !== undefined) paintBest(u.ctx, area, best);
  };
  const drawMany = (context: CanvasRenderingContext2D, area: Area) => {
    if (picture) drawPicture(context, picture, area);
    if (isMoving || (requested && isSame(requested, area))) return;
    requested = area;
    painter.begin(curves, area, devicePixelRatio);
  };

  // Set both scales in one batch: each change redraws all curves.
  const show = (range: Range) => {
    const [lowest, highest] = computeYRange(curves, range[0], range[1], options.isLog);
    plot.batch(() => {
      plot.setScale("x", { min: range[0], max: range[1] });
      plot.setScale("y", { min: lowest, max: highest });
      plot.redraw(false);
    });
  };
  const shown = (): Range => {
    const { min, max } = plot.scales["x"] ?? {};
    return [min ?? full[0], max ?? full[1]];
  };
  const zoomTo = (range: Range | undefined) => {
    const before = zoom;
    zoom = range && roundRange(range);
    show(zoom ?? full);
    if (!isSameRange(before, zoom)) options.onZoom(zoom);
  };

  const nearTo = (u: uPlot, left: number, top: number) => {
    const area = toArea(u);
    const at = { x: u.posToVal(left, "x"), top: area.top + top * devicePixelRatio };
    return findNearestCurves(curves, toPlane(area), at, REACH * devicePixelRatio);
  };
  const follow = (u: uPlot) => {
    const { left, top, event } = u.cursor;
    // uPlot also reports the cursor after each change of the curves.
    if (keyPosition && left === keyPosition.left && top === keyPosition.top) return;
    keyPosition = undefined;
    if (left === undefined || top === undefined || left < 0 || !event) {
      options.onNear([]);
      return;
    }
    crosshair = { x: u.posToVal(left, "x"), top };
    options.onNear(nearTo(u, left, top), { left, top });
  };
  // A scripted cursor also moves the crosshair of the page's other charts.
  const moveCrosshair = (x: number, top: number) => {
    crosshair = { x, top };
    keyPosition = { left: plot.valToPos(x, "x"), top };
    plot.setCursor(keyPosition, false);
    options.onNear(nearTo(plot, keyPosition.left, top), keyPosition, true);
  };
  // The curves or the visible range around the crosshair have changed.
  const updateCrosshair = () => crosshair && moveCrosshair(crosshair.x, crosshair.top);

  const plot = new uPlot(
    uplotOptions(options, () => zoomTo(undefined), {
      draw: [draw],
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          const range: Range = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          zoomTo(range);
        },
      ],
      setCursor: [follow],
    }),
    [
      [0, 1],
      [null, null],
    ],
    element,
  );
  const stopPanning = panning(plot, (moving) => {
    isMoving = moving;
    if (!moving) zoomTo(shown());
  });

  return {
    setCurves(next) {
      curves = next;
      full = computeXRange(next);
      requested = undefined;
      plot.setData([full, [null, null]], false);
      show(isMoving ? shown() : (zoom ?? full));
      if (keyPosition) updateCrosshair();
    },
    setZoom(next) {
      if (isSameRange(zoom, next)) return;
      zoom = next;
      show(zoom ?? full);
      if (keyPosition) updateCrosshair();
    },
    setBest(next) {
      best = next;
      plot.redraw(false);
    },
    setSize: (width, height) => plot.setSize({ width, height }),
    step(across, up = 0) {
      const [from, to] = shown();
      const width = plot.over.clientWidth;
      const top = (crosshair?.top ?? plot.over.clientHeight / 2) - up * KEY_PIXELS;
      const within = Math.min(plot.over.clientHeight, Math.max(0, top));
      const last = crosshair && Math.min(to, Math.max(from, crosshair.x));
      // The first key press shows the newest points.
      const first = across < 0 ? to : from;
      const next = across === 0 ? last : findNextPoint(curves, [from, to], last, across, width);
      moveCrosshair(next ?? last ?? first, within);
    },
    zoomBy(factor) {
      const [from, to] = shown();
      const middle = crosshair?.x ?? (from + to) / 2;
      const begin = Math.max(full[0], middle - (middle - from) * factor);
      const end = Math.min(full[1], middle + (to - middle) * factor);
      const isAll = begin <= full[0] && end >= full[1];
      if (begin < end) zoomTo(isAll ? undefined : [begin, end]);
      updateCrosshair();
    },
    panBy(share) {
      const [from, to] = shown();
      const by = (to - from) * share;
      zoomTo([from + by, to + by]);
    },
    reset() {
      zoomTo(undefined);
      updateCrosshair();
    },
    leave() {
      crosshair = undefined;
      keyPosition = undefined;
      plot.setCursor({ left: -10, top: -10 }, false);
      options.onNear([]);
    },
    destroy() {
      stopPanning();
      painter.stop();
      plot.destroy();
    },
  };
}

function isSame(a: Area, b: Area): boolean {
  const numbers = ({ left, top, width, height, x, y }: Area) => [
    left,
    top,
    width,
    height,
    ...x,
    ...y,
  ];
  const others = numbers(b);
  return numbers(a).every((number, i) => number === others[i]);
}

/** Pans on Shift-drag. Returns a function that removes the listener. */
function panning(plot: uPlot, onMove: (isMoving: boolean) => void): () => void {
  const begin = (down: MouseEvent) => {
    if (!down.shiftKey || down.button !== 0) return;
    down.preventDefault();
    down.stopImmediatePropagation();
    const { min = 0, max = 1 } = plot.scales["x"] as { min?: number; max?: number };
    const perPixel = (max - min) / plot.over.clientWidth;
    const move = (event: MouseEvent) => {
      onMove(true);
      const by = (down.clientX - event.clientX) * perPixel;
      plot.setScale("x", { min: min + by, max: max + by });
    };
    const end = () => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", end);
      onMove(false);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", end);
  };
  plot.over.addEventListener("mousedown", begin, { capture: true });
  return () => plot.over.removeEventListener("mousedown", begin, { capture: true });
}
