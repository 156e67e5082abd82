import uPlot from "uplot";
import { formatNumber } from "./format";
import { nearestCurves, type Near } from "./nearest";
import { COARSE, FINE, heightOf, paint, planeOf, widthOf, type Area, type Curve } from "./paint";
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

// With so many curves a picture of them is moved while the pointer drags, or they are drawn coarsely where
// there is none yet, and in full after it.
const MANY = 50;

const SEEN = 50; // ms after which what was drawn is on the screen

/** Draws curves into `element` by uPlot: its axes, crosshair and zoom, and our own fast painting. */
export function createPlot(element: HTMLElement, options: PlotOptions): Plot {
  let curves: readonly Curve[] = [];
  let best: number | undefined;
  let full: [number, number] = [0, 1];
  let picture: { image: HTMLCanvasElement; area: Area } | undefined;
  let copying: ReturnType<typeof setTimeout> | undefined;
  let isMoving = false;
  // Just moved: what was drawn coarsely is drawn in full once that is seen.
  let isSettling = false;
  let settling: ReturnType<typeof setTimeout> | undefined;
  // Curves come with their height: each more would draw them all once more.
  let isSetting = false;
  let isZoomed = false;

  const areaOf = (u: uPlot): Area => ({
    ...{ left: u.bbox.left, top: u.bbox.top, width: u.bbox.width, height: u.bbox.height },
    x: [u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1],
    y: [u.scales["y"]?.min ?? 0, u.scales["y"]?.max ?? 1],
    isLog: options.isLog,
  });

  const draw = (u: uPlot) => {
    const area = areaOf(u);
    if (isMoving && picture) {
      movePicture(u.ctx, picture, area);
      return;
    }
    const isCoarse = curves.length >= MANY && (isMoving || isSettling);
    paint(u.ctx, curves, area, devicePixelRatio, isCoarse ? COARSE : FINE);
    if (!isCoarse) keepPicture(u, area);
    if (best !== undefined) drawBest(u.ctx, area, best);
  };

  // The picture is copied once it is seen: a copy waits for all that is drawn.
  const keepPicture = (u: uPlot, area: Area) => {
    picture = undefined;
    clearTimeout(copying);
    if (curves.length < MANY) return;
    copying = setTimeout(() => {
      picture = { image: copyOf(u.ctx.canvas, area), area };
    }, SEEN);
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
          if (!isSetting) fitHeight(u);
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
    clearTimeout(settling);
    isSettling = !moving;
    if (moving) return;
    fitHeight(plot);
    plot.redraw(false);
    settling = setTimeout(() => {
      isSettling = false;
      if (curves.length >= MANY) plot.redraw(false);
    }, SEEN);
  });

  return {
    setCurves(next) {
      curves = next;
      full = widthOf(next);
      picture = undefined;
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
      clearTimeout(copying);
      clearTimeout(settling);
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

function copyOf(canvas: HTMLCanvasElement, area: Area): HTMLCanvasElement {
  const image = document.createElement("canvas");
  image.width = area.width;
  image.height = area.height;
  image
    .getContext("2d")
    ?.drawImage(
      canvas,
      area.left,
      area.top,
      area.width,
      area.height,
      0,
      0,
      area.width,
      area.height,
    );
  return image;
}

function movePicture(
  context: CanvasRenderingContext2D,
  { image, area: then }: { image: HTMLCanvasElement; area: Area },
  now: Area,
) {
  const { toX } = planeOf(now);
  context.save();
  context.beginPath();
  context.rect(now.left, now.top, now.width, now.height);
  context.clip();
  context.drawImage(image, toX(then.x[0]), now.top, toX(then.x[1]) - toX(then.x[0]), now.height);
  context.restore();
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
