import type uPlot from "uplot";
import { formatNumber } from "./format";
import type { Near } from "./nearest";
import { resolveColour } from "./theme";
import type { Range } from "./view";

/** The options of a plot. */
export interface PlotOptions {
  width: number;
  height: number;
  isLog: boolean;
  /** Charts with the same key share the crosshair. */
  syncKey?: string;
  xLabel: string;
  formatX: (x: number) => string;
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
        values: (_, ticks) => ticks.map(options.formatX),
      },
      {
        ...axis,
        grid: { stroke: () => resolveColour("--line"), width: 1 },
        size: 58,
        // uPlot passes null for ticks of a logarithmic axis that are not powers of ten.
        values: (_, ticks) =>
          ticks.map((tick: number | null) => (tick == null ? "" : formatNumber(tick))),
      },
    ],
    series: [{}, { scale: "y", show: true, stroke: "transparent", points: { show: false } }],
    hooks,
  };
}
