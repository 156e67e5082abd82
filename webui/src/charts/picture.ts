import { computeLegendHeight, layoutLegend, type LegendEntry } from "./legendRows";
import { computeXRange, computeYRange, toPlane, type Area, type Curve } from "./paint";
import { formatTicks, formatTicksBy, keepIntegers, numberScale } from "./ticks";
import type { Range } from "./view";

/** What an exported picture shows. */
export interface Picture {
  /** The metric's name; also the label of the y axis. */
  title: string;
  /** Where the curves are from: "Experiment 7 mnist". */
  source?: string;
  curves: readonly Curve[];
  xLabel: string;
  formatX?: (x: number) => string;
  isLog: boolean;
  /** The visible range; all if undefined. */
  zoom?: Range;
  /** Drawn as a dotted line. */
  best?: number;
}

interface Tick {
  /** Pixels from the left or the top. */
  at: number;
  label: string;
}

/** The places of the parts of a picture, in pixels. */
export interface Layout {
  width: number;
  height: number;
  area: Area;
  xTicks: readonly Tick[];
  yTicks: readonly Tick[];
  legend: readonly LegendEntry[];
  /** The top of the legend. */
  legendTop: number;
}

const WIDTH = 800;
const HEIGHT = 420;
const EDGE = { left: 84, top: 56, right: 20, bottom: 54 };

/** Lays out an exported picture. */
export function layoutPicture({ curves, isLog, formatX, xLabel, zoom }: Picture): Layout {
  const x = zoom ?? computeXRange(curves);
  const y = computeYRange(curves, x[0], x[1], isLog);
  const width = WIDTH - EDGE.left - EDGE.right;
  const height = HEIGHT - EDGE.top - EDGE.bottom;
  const area: Area = { left: EDGE.left, top: EDGE.top, width, height, x, y, isLog };
  const plane = toPlane(area);
  const across = keepIntegers(numberScale(x[0], x[1], false).ticks, xLabel);
  const up = numberScale(y[0], y[1], isLog).ticks;
  const toTicks = (values: readonly number[], labels: string[], toPixel: (v: number) => number) =>
    values.map((value, i) => ({ at: toPixel(value), label: labels[i] ?? "" }));
  const legend = layoutLegend(curves, width);
  return {
    width: WIDTH,
    height: HEIGHT + computeLegendHeight(legend),
    area,
    xTicks: toTicks(
      across,
      formatX ? formatTicksBy(across, formatX) : formatTicks(across),
      plane.toX,
    ),
    yTicks: toTicks(up, formatTicks(up), plane.toY),
    legend,
    legendTop: HEIGHT - 6,
  };
}
