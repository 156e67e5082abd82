import { strokeOf } from "./colours";
import { toSvgPath } from "./export";
import { formatNumber } from "./format";
import { heightOf, planeOf, widthOf, type Area, type Curve } from "./paint";
import { colourOf } from "./theme";
import { numberScale } from "./ticks";

interface Picture {
  title: string;
  curves: readonly Curve[];
  xLabel: string;
  isLog: boolean;
}

const WIDTH = 800;
const HEIGHT = 400;
const escape = (text: string) => text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);

/** A chart of all values of the curves as an SVG file of its own. */
export function toSvg({ title, curves, xLabel, isLog }: Picture): string {
  const x = widthOf(curves);
  const y = heightOf(curves, x[0], x[1], isLog);
  const area: Area = { left: 70, top: 40, width: WIDTH - 90, height: HEIGHT - 90, x, y, isLog };
  const plane = planeOf(area);
  const bottom = area.top + area.height;
  const right = area.left + area.width;
  const text = (at: string, words: string, anchor: string) =>
    `<text ${at} text-anchor="${anchor}">${escape(words)}</text>`;
  const grid = numberScale(y[0], y[1], isLog).ticks.map((tick) => {
    const at = plane.toY(tick);
    const line = `<path d="M${area.left} ${at}H${right}" stroke="#e4e4e7"/>`;
    return line + text(`x="${area.left - 6}" y="${at + 4}"`, formatNumber(tick), "end");
  });
  const ticks = numberScale(x[0], x[1], false).ticks.map((tick) =>
    text(`x="${plane.toX(tick)}" y="${bottom + 18}"`, formatNumber(tick), "middle"),
  );
  const lines = curves.map(({ series, y: values }) => {
    const { colour, dash } = strokeOf(series.rank);
    const path = toSvgPath(series.x, values, plane);
    const stroke = `stroke="${colourOf(colour)}" stroke-dasharray="${dash.join(" ")}"`;
    return `<path d="${path}" fill="none" stroke-width="1.5" ${stroke}><title>${escape(series.label)}</title></path>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12" fill="#52525b">`,
    text(`x="${area.left}" y="24" font-weight="600"`, title, "start"),
    ...grid,
    ...ticks,
    text(`x="${right}" y="${bottom + 38}"`, xLabel, "end"),
    ...lines,
    "</svg>",
  ].join("\n");
}
