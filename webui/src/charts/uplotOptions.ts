import type uPlot from "uplot";
import { formatNumber } from "./format";
import type { Near } from "./nearest";
import { resolveColour } from "./theme";
import type { Range } from "./view";

/** What a plot shows besides its curves. */
export interface PlotOptions {
  width: number;
  height: number;
  isLog: boolean;
  /** Charts with the same key share their crosshair and the x values that are shown. */
  syncKey?: string;
  xLabel: string;
  formatX: (x: number) => string;
  /** The curves near the crosshair, and where that is in pixels of the plot; nothing: it has left. */
  onNear: (near: Near[], at?: { left: number; top: number }, isByKey?: boolean) => void;
  /** Someone has zoomed into this, or out of all; the plot shows it already. */
  onZoom: (zoom: Range | undefined) => void;
}

// uPlot names these by an enumeration that has no values when it runs.
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- as above
const LINEAR: uPlot.Scale.Distr.Linear = 1;
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- as above
const LOGARITHMIC: uPlot.Scale.Distr.Logarithmic = 3;

/** uPlot's axes, crosshair and drag, without a curve. `reset`: what a double click does. */
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
  // What is zoomed into comes to the others from who shows them all.
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
        // Of a logarithmic axis only powers of ten are written.
        values: (_, ticks) =>
          ticks.map((tick: number | null) => (tick == null ? "" : formatNumber(tick))),
      },
    ],
    series: [{}, { scale: "y", show: true, stroke: "transparent", points: { show: false } }],
    hooks,
  };
}
