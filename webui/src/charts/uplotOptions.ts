import type uPlot from "uplot";
import type { Near } from "./nearest";
import { resolveColour } from "./theme";
import { formatTicks, formatTicksBy, isIntegerAxis } from "./ticks";
import type { Range } from "./view";

/** The options of a plot. */
export interface PlotOptions {
  width: number;
  height: number;
  isLog: boolean;
  /** Charts with the same key share the crosshair. */
  syncKey?: string;
  xLabel: string;
  /** Default: as many digits as keep the ticks apart. */
  formatX?: ((x: number) => string) | undefined;
  /**
   * Called with the curves near the crosshair and its position in pixels; with an empty list when the
   * crosshair leaves.
   */
  onNear: (near: Near[], at?: { left: number; top: number }, isByKey?: boolean) => void;
  /** Called when the user zooms; the plot already shows the new range. */
  onZoom: (zoom: Range | undefined) => void;
}

// uPlot declares these in a const enum without runtime values.
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- as above
const LINEAR: uPlot.Scale.Distr.Linear = 1;
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- as above
const LOGARITHMIC: uPlot.Scale.Distr.Logarithmic = 3;

// The distances between ticks that uPlot may choose for integers.
const INTEGERS = Array.from({ length: 16 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();

/** uPlot's options for axes, crosshair and drag, without curves. `reset` handles a double click. */
export function uplotOptions(
  options: PlotOptions,
  reset: () => void,
  hooks: uPlot.Hooks.Arrays,
): uPlot.Options {
  const axis = {
    stroke: () => resolveColour("--secondary"),
    font: "12px system-ui, sans-serif",
    ticks: { stroke: () => resolveColour("--line"), size: 4 },
  };
  // The page synchronizes the zoom of its charts; uPlot only syncs the crosshair.
  const isCrosshair = (type: string) => type === "mousemove" || type === "mouseleave";
  const sync: uPlot.Cursor.Sync | undefined = options.syncKey
    ? {
        key: options.syncKey,
        scales: ["x", null],
        filters: { pub: isCrosshair, sub: isCrosshair },
      }
    : undefined;
  return {
    width: options.width,
    height: options.height,
    legend: { show: false },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      bind: {
        dblclick: () => () => {
          reset();
          return null;
        },
      },
      points: { show: false },
      ...(sync && { sync }),
    },
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
        ...(isIntegerAxis(options.xLabel) && { incrs: INTEGERS }),
        values: (_, ticks) =>
          options.formatX ? formatTicksBy(ticks, options.formatX) : formatTicks(ticks),
      },
      {
        ...axis,
        grid: { stroke: () => resolveColour("--line"), width: 1 },
        size: 58,
        // uPlot passes null for ticks of a logarithmic axis that are not powers of ten.
        values: (_, ticks: (number | null)[]) => {
          const labelled = ticks.filter((tick) => tick !== null);
          const labels = formatTicks(labelled);
          return ticks.map((tick) => (tick === null ? "" : (labels[labelled.indexOf(tick)] ?? "")));
        },
      },
    ],
    series: [{}, { scale: "y", show: true, stroke: "transparent", points: { show: false } }],
    hooks,
  };
}
