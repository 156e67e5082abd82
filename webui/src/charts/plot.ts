import uPlot from "uplot";
import { formatNumber } from "./format";
import { createGradualPainter, drawPicture, type Picture } from "./gradual";
import { nearestCurves, type Near } from "./nearest";
import { heightOf, paint, planeOf, widthOf, type Area, type Curve } from "./paint";
import { colourOf } from "./theme";

/** What a plot shows besides its curves. */
export interface PlotOptions {
  width: number;
  height: number;
  isLog: boolean;
  /** Charts with the same key share their crosshair and the x values that are shown. */
  syncKey?: string;
  xLabel: string;
  formatX: (x: number) => string;
  /** The curves near the pointer, and where that is in pixels of the plot; nothing: it has left. */
  onNear: (near: Near[], at?: { left: number; top: number }) => void;
  onZoom: (isZoomed: boolean) => void;
}

/** A plot on the page; `destroy` when it goes. */
export interface Plot {
  setCurves: (curves: readonly Curve[]) => void;
  /** A value that is worth a dotted line. */
  setBest: (best: number | undefined) => void;
  setSize: (width: number, height: number) => void;
  /** The canvas, with all that is drawn now. */
  canvas: () => HTMLCanvasElement;
  destroy: () => void;
}

// uPlot names these by an enumeration that has no values when it runs.
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- as above
const LINEAR: uPlot.Scale.Distr.Linear = 1;
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- as above
const LOGARITHMIC: uPlot.Scale.Distr.Logarithmic = 3;

// So many curves are painted over several frames; until they are, a picture of them as they were is shown
// where it belongs now.
const MANY = 50;

/** Draws curves into `element` by uPlot: its axes, crosshair and zoom, and our own fast painting. */
export function createPlot(element: HTMLElement, options: PlotOptions): Plot {
  let curves: readonly Curve[] = [];
  let best: number | undefined;
  let full: [number, number] = [0, 1];
  let picture: Picture | undefined;
  let wanted: Area | undefined; // of which there is a picture, or will be
  let isMoving = false;
  // Curves come with their height: each more would draw them all once more.
  let isSetting = false;
  let isZoomed = false;

  const areaOf = (u: uPlot): Area => ({
    ...{ left: u.bbox.left, top: u.bbox.top, width: u.bbox.width, height: u.bbox.height },
    x: [u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1],
    y: [u.scales["y"]?.min ?? 0, u.scales["y"]?.max ?? 1],
    isLog: options.isLog,
  });

  const painter = createGradualPainter((painted, isWhole) => {
    // What is painted by and by takes no place of a whole one, however old.
    if (!isWhole && picture) return;
    if (isWhole) {
      picture = painted;
      plot.redraw(false);
    } else drawPicture(plot.ctx, painted, areaOf(plot));
  });

  const draw = (u: uPlot) => {
    const area = areaOf(u);
    if (curves.length < MANY) paint(u.ctx, curves, area, devicePixelRatio);
    else drawMany(u.ctx, area);
    if (best !== undefined) drawBest(u.ctx, area, best);
  };
  const drawMany = (context: CanvasRenderingContext2D, area: Area) => {
    if (picture) drawPicture(context, picture, area);
    if (isMoving || (wanted && isSame(wanted, area))) return;
    wanted = area;
    painter.begin(curves, area, devicePixelRatio);
  };

  const fitHeight = (u: uPlot) => {
    const { min, max } = u.scales["x"] ?? {};
    if (isMoving || min == null || max == null) return;
    const [least, greatest] = heightOf(curves, min, max, options.isLog);
    u.setScale("y", { min: least, max: greatest });
  };

  const follow = (u: uPlot) => {
    const { left, top, event } = u.cursor;
    if (left === undefined || top === undefined || left < 0 || !event) {
      options.onNear([]);
      return;
    }
    const area = areaOf(u);
    const ratio = devicePixelRatio;
    const at = { x: u.posToVal(left, "x"), top: area.top + top * ratio };
    options.onNear(nearestCurves(curves, planeOf(area), at), { left, top });
  };

  const plot = new uPlot(
    uplotOptions(options, {
      draw: [draw],
      setScale: [
        (u, key) => {
          if (key !== "x") return;
          const { min, max } = u.scales["x"] ?? {};
          isZoomed = min !== full[0] || max !== full[1];
          options.onZoom(isZoomed);
          // Within this hook uPlot forgets what is set.
          if (!isSetting) queueMicrotask(() => fitHeight(u));
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
    if (moving) return;
    fitHeight(plot);
    plot.redraw(false);
  });

  return {
    setCurves(next) {
      curves = next;
      full = widthOf(next);
      wanted = undefined;
      const x = plot.scales["x"];
      const [from, to] = isZoomed ? [x?.min ?? full[0], x?.max ?? full[1]] : full;
      const [least, greatest] = heightOf(next, from, to, options.isLog);
      isSetting = true;
      plot.batch(() => {
        plot.setData([full, [null, null]], false);
        plot.setScale("x", { min: from, max: to });
        plot.setScale("y", { min: least, max: greatest });
        plot.redraw(false);
      });
      isSetting = false;
    },
    setBest(next) {
      best = next;
      plot.redraw(false);
    },
    setSize: (width, height) => plot.setSize({ width, height }),
    canvas: () => plot.ctx.canvas,
    destroy() {
      stopPanning();
      painter.stop();
      plot.destroy();
    },
  };
}

function uplotOptions(options: PlotOptions, hooks: uPlot.Hooks.Arrays): uPlot.Options {
  const axis = {
    stroke: () => colourOf("--secondary"),
    font: "12px system-ui, sans-serif",
    ticks: { stroke: () => colourOf("--line"), size: 4 },
  };
  const sync: uPlot.Cursor.Sync | undefined = options.syncKey
    ? { key: options.syncKey, scales: ["x", null] }
    : undefined;
  return {
    width: options.width,
    height: options.height,
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false }, ...(sync && { sync }) },
    scales: {
      x: { time: false, auto: false },
      y: { auto: false, distr: options.isLog ? LOGARITHMIC : LINEAR },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        label: options.xLabel,
        labelSize: 18,
        labelFont: "12px system-ui, sans-serif",
        size: 30,
        values: (_, ticks) => ticks.map(options.formatX),
      },
      {
        ...axis,
        grid: { stroke: () => colourOf("--line"), width: 1 },
        size: 58,
        // Of a logarithmic axis only powers of ten are written.
        values: (_, ticks) =>
          ticks.map((tick: number | null) => (tick == null ? "" : formatNumber(tick))),
      },
    ],
    series: [{}, { scale: "y", show: true, stroke: "transparent", points: { show: false } }],
    hooks,
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

function drawBest(context: CanvasRenderingContext2D, area: Area, best: number) {
  const y = planeOf(area).toY(best);
  if (!(y >= area.top && y <= area.top + area.height)) return;
  context.save();
  context.strokeStyle = colourOf("--faint");
  context.setLineDash([2, 4]);
  context.beginPath();
  context.moveTo(area.left, y);
  context.lineTo(area.left + area.width, y);
  context.stroke();
  context.restore();
}

/** Shift and drag moves what is shown. Returns what ends it. */
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
