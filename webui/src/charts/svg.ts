import { getStroke } from "./colours";
import { toSvgPath } from "./export";
import { formatNumber } from "./format";
import { computeLegendHeight, LEGEND, layoutLegend, type LegendEntry } from "./legendRows";
import { computeYRange, toPlane, computeXRange, type Area, type Curve } from "./paint";
import { resolveColour } from "./theme";
import { numberScale } from "./ticks";
import type { Range } from "./view";

interface Picture {
  title: string;
  curves: readonly Curve[];
  xLabel: string;
  formatX?: (x: number) => string;
  isLog: boolean;
  /** The visible range; all if undefined. */
  zoom?: Range;
}

const WIDTH = 800;
const HEIGHT = 400;
const escape = (text: string) => text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);

const createText = (at: string, words: string, anchor = "start") =>
  `<text ${at} text-anchor="${anchor}">${escape(words)}</text>`;

/** Exports a chart as an SVG file in the page's colours. */
export function toSvg(picture: Picture): string {
  const { title, curves, isLog } = picture;
  const x = picture.zoom ?? computeXRange(curves);
  const y = computeYRange(curves, x[0], x[1], isLog);
  const area: Area = { left: 70, top: 40, width: WIDTH - 90, height: HEIGHT - 90, x, y, isLog };
  const legend = layoutLegend(curves, area.width);
  const high = HEIGHT + computeLegendHeight(legend);
  const box = `x="${area.left}" y="${area.top}" width="${area.width}" height="${area.height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${high}" font-family="sans-serif" font-size="12" fill="${resolveColour("--secondary")}">`,
    `<rect width="${WIDTH}" height="${high}" fill="${resolveColour("--page")}"/>`,
    `<clipPath id="plot"><rect ${box}/></clipPath>`,
    createText(
      `x="${area.left}" y="24" font-weight="600" font-size="14" fill="${resolveColour("--text")}"`,
      title,
    ),
    ...drawAxes(area, picture),
    `<g clip-path="url(#plot)">`,
    ...curves.flatMap((curve) => toLines(curve, area)),
    "</g>",
    `<g transform="translate(${area.left} ${HEIGHT - 4})">`,
    ...legend.map(drawEntry),
    "</g>",
    "</svg>",
  ].join("\n");
}

function drawAxes(area: Area, { xLabel, formatX = formatNumber }: Picture): string[] {
  const plane = toPlane(area);
  const bottom = area.top + area.height;
  const right = area.left + area.width;
  const grid = numberScale(area.y[0], area.y[1], area.isLog).ticks.map((tick) => {
    const at = plane.toY(tick);
    const line = `<path d="M${area.left} ${at}H${right}" stroke="${resolveColour("--line")}"/>`;
    return line + createText(`x="${area.left - 6}" y="${at + 4}"`, formatNumber(tick), "end");
  });
  const ticks = numberScale(area.x[0], area.x[1], false).ticks.map((tick) =>
    createText(`x="${plane.toX(tick)}" y="${bottom + 18}"`, formatX(tick), "middle"),
  );
  return [...grid, ...ticks, createText(`x="${right}" y="${bottom + 36}"`, xLabel, "end")];
}

function toLines({ series, y, raw }: Curve, area: Area): string[] {
  const plane = toPlane(area);
  const { colour, dash } = getStroke(series.rank);
  const line = (values: ArrayLike<number>, opacity: number) =>
    `<path d="${toSvgPath(series.x, values, plane)}" fill="none" stroke-width="1.5" stroke="${resolveColour(colour)}" stroke-dasharray="${dash.join(" ")}" opacity="${opacity}"><title>${escape(series.label)}</title></path>`;
  return [...(raw ? [line(raw, 0.25)] : []), line(y, 1)];
}

function drawEntry({ left, top, label, rank }: LegendEntry): string {
  const middle = top + LEGEND.row / 2;
  const name = createText(`x="${left + LEGEND.swatch + LEGEND.gap}" y="${middle + 4}"`, label);
  if (rank === undefined) return name;
  const { colour, dash } = getStroke(rank);
  const line = `<path d="M${left} ${middle}h${LEGEND.swatch}" stroke="${resolveColour(colour)}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/>`;
  return line + name;
}
