import { getStroke } from "./colours";
import { LEGEND, type LegendEntry } from "./legendRows";
import { paint, paintBest } from "./paint";
import { layoutPicture, type Layout, type Picture } from "./picture";
import { resolveColour } from "./theme";

// Pixels of the image per CSS pixel: sharp in documents and on dense screens.
const SCALE = 2;
const FONT = "system-ui, sans-serif";

/** Exports a chart as a PNG in the page's colours, twice as large as its layout. */
export async function toPng(picture: Picture): Promise<Blob> {
  const layout = layoutPicture(picture);
  const image = document.createElement("canvas");
  image.width = layout.width * SCALE;
  image.height = layout.height * SCALE;
  const context = image.getContext("2d");
  if (!context) throw new Error("cannot export the chart: the browser provides no canvas");
  context.scale(SCALE, SCALE);
  context.fillStyle = resolveColour("--page");
  context.fillRect(0, 0, layout.width, layout.height);
  drawWords(context, picture, layout);
  paint(context, picture.curves, layout.area, 1);
  if (picture.best !== undefined) paintBest(context, layout.area, picture.best);
  context.translate(layout.area.left, layout.legendTop);
  for (const entry of layout.legend) drawEntry(context, entry);
  return new Promise((done, fail) =>
    image.toBlob(
      (blob) =>
        blob ? done(blob) : fail(new Error("cannot export the chart: the image is too large")),
      "image/png",
    ),
  );
}

/** Title, source, axes and their labels. */
function drawWords(context: CanvasRenderingContext2D, picture: Picture, layout: Layout) {
  const { area, xTicks, yTicks } = layout;
  const bottom = area.top + area.height;
  context.fillStyle = resolveColour("--text");
  context.font = `600 14px ${FONT}`;
  context.fillText(picture.title, area.left, 22);
  context.fillStyle = resolveColour("--secondary");
  context.font = `12px ${FONT}`;
  if (picture.source) context.fillText(picture.source, area.left, 42);
  context.strokeStyle = resolveColour("--line");
  context.lineWidth = 1;
  context.textAlign = "right";
  for (const { at, label } of yTicks) {
    context.beginPath();
    context.moveTo(area.left, at);
    context.lineTo(area.left + area.width, at);
    context.stroke();
    context.fillText(label, area.left - 6, at + 4);
  }
  context.textAlign = "center";
  for (const { at, label } of xTicks) context.fillText(label, at, bottom + 18);
  context.fillText(picture.xLabel, area.left + area.width / 2, bottom + 36);
  context.save();
  context.translate(16, area.top + area.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(picture.title, 0, 0, area.height);
  context.restore();
  context.textAlign = "left";
}

function drawEntry(context: CanvasRenderingContext2D, { left, top, label, rank }: LegendEntry) {
  const middle = top + LEGEND.row / 2;
  if (rank !== undefined) {
    const { colour, dash } = getStroke(rank);
    context.strokeStyle = resolveColour(colour);
    context.lineWidth = 2;
    context.setLineDash([...dash]);
    context.beginPath();
    context.moveTo(left, middle);
    context.lineTo(left + LEGEND.swatch, middle);
    context.stroke();
  }
  context.fillStyle = resolveColour("--secondary");
  context.font = `12px ${FONT}`;
  context.fillText(label, left + LEGEND.swatch + LEGEND.gap, middle + 4);
}
