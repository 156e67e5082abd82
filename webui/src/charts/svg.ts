import { getStroke } from "./colours";
import { toSvgPath } from "./export";
import { LEGEND, type LegendEntry } from "./legendRows";
import { CROSS, locateInvalid, toPlane, type Area, type Curve } from "./paint";
import { layoutPicture, type Layout, type Picture } from "./picture";
import { resolveColour } from "./theme";

const escape = (text: string) => text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);

const createText = (at: string, words: string, anchor = "start") =>
  `<text ${at} text-anchor="${anchor}">${escape(words)}</text>`;

/** Exports a chart as an SVG file in the page's colours. */
export function toSvg(picture: Picture): string {
  const layout = layoutPicture(picture);
  const { area, width, height } = layout;
  const box = `x="${area.left}" y="${area.top}" width="${area.width}" height="${area.height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="${resolveColour("--secondary")}">`,
    `<rect width="${width}" height="${height}" fill="${resolveColour("--page")}"/>`,
    `<clipPath id="plot"><rect ${box}/></clipPath>`,
    createText(
      `x="${area.left}" y="22" font-weight="600" font-size="14" fill="${resolveColour("--text")}"`,
      picture.title,
    ),
    ...(picture.source ? [createText(`x="${area.left}" y="42"`, picture.source)] : []),
    ...drawAxes(picture, layout),
    `<g clip-path="url(#plot)">`,
    ...picture.curves.flatMap((curve) => toLines(curve, area)),
    ...(picture.best === undefined ? [] : drawBest(picture.best, area)),
    "</g>",
    ...picture.curves.map((curve) => drawInvalid(curve, area)),
    `<g transform="translate(${area.left} ${layout.legendTop})">`,
    ...layout.legend.map(drawEntry),
    "</g>",
    "</svg>",
  ].join("\n");
}

function drawAxes({ title, xLabel }: Picture, { area, xTicks, yTicks }: Layout): string[] {
  const bottom = area.top + area.height;
  const right = area.left + area.width;
  const middle = { x: area.left + area.width / 2, y: area.top + area.height / 2 };
  return [
    ...yTicks.map(({ at, label }) => {
      const line = `<path d="M${area.left} ${at}H${right}" stroke="${resolveColour("--line")}"/>`;
      return line + createText(`x="${area.left - 6}" y="${at + 4}"`, label, "end");
    }),
    ...xTicks.map(({ at, label }) => createText(`x="${at}" y="${bottom + 18}"`, label, "middle")),
    createText(`x="${middle.x}" y="${bottom + 36}"`, xLabel, "middle"),
    createText(`transform="translate(16 ${middle.y}) rotate(-90)"`, title, "middle"),
  ];
}

function drawBest(best: number, area: Area): string[] {
  const y = toPlane(area).toY(best);
  if (!Number.isFinite(y)) return []; // not positive on a logarithmic axis
  const line = `M${area.left} ${y}h${area.width}`;
  return [`<path d="${line}" stroke="${resolveColour("--faint")}" stroke-dasharray="2 4"/>`];
}

function toLines({ series, y, raw }: Curve, area: Area): string[] {
  const plane = toPlane(area);
  const { colour, dash } = getStroke(series.rank);
  const stroke = resolveColour(colour);
  const line = (values: ArrayLike<number>, opacity: number) =>
    `<path d="${toSvgPath(series.x, values, plane)}" fill="none" stroke-width="1.5" stroke="${stroke}" stroke-dasharray="${dash.join(" ")}" opacity="${opacity}"><title>${escape(series.label)}</title></path>`;
  return [...(raw ? [line(raw, 0.25)] : []), line(y, 1)];
}

function drawInvalid({ series }: Curve, area: Area): string {
  const d = 2 * CROSS;
  const crosses = locateInvalid(series, area, toPlane(area)).map(
    ([left, top]) => `M${left - CROSS} ${top - CROSS}l${d} ${d}m${-d} 0l${d} ${-d}`,
  );
  if (crosses.length === 0) return "";
  const stroke = resolveColour(getStroke(series.rank).colour);
  return `<path d="${crosses.join("")}" stroke-width="1.5" stroke="${stroke}"/>`;
}

function drawEntry({ left, top, label, rank }: LegendEntry): string {
  const middle = top + LEGEND.row / 2;
  const name = createText(`x="${left + LEGEND.swatch + LEGEND.gap}" y="${middle + 4}"`, label);
  if (rank === undefined) return name;
  const { colour, dash } = getStroke(rank);
  const line = `<path d="M${left} ${middle}h${LEGEND.swatch}" stroke="${resolveColour(colour)}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/>`;
  return line + name;
}
