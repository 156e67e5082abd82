import { getStroke } from "./colours";
import { computeLegendHeight, LEGEND, layoutLegend, type LegendEntry } from "./legendRows";
import type { Curve } from "./paint";
import { resolveColour } from "./theme";

interface Picture {
  title: string;
  /** The canvas of the plot. */
  canvas: HTMLCanvasElement;
  curves: readonly Curve[];
}

const EDGE = 12;
const TITLE = 28;
const FONT = "system-ui, sans-serif";

/** Exports the plot as a PNG with background, title and legend. */
export async function toPng({ title, canvas, curves }: Picture): Promise<Blob> {
  const ratio = devicePixelRatio;
  const width = canvas.width / ratio;
  const height = canvas.height / ratio;
  const legend = layoutLegend(curves, width);
  const image = document.createElement("canvas");
  image.width = canvas.width + 2 * EDGE * ratio;
  image.height = (EDGE + TITLE + height + computeLegendHeight(legend) + EDGE) * ratio;
  const context = image.getContext("2d");
  if (!context) throw new Error("cannot export the chart: the browser provides no canvas");
  context.scale(ratio, ratio);
  context.fillStyle = resolveColour("--page");
  context.fillRect(0, 0, image.width, image.height);
  context.fillStyle = resolveColour("--text");
  context.font = `600 14px ${FONT}`;
  context.fillText(title, EDGE, EDGE + 14);
  context.drawImage(canvas, EDGE, EDGE + TITLE, width, height);
  context.translate(EDGE, EDGE + TITLE + height);
  for (const entry of legend) drawEntry(context, entry);
  return new Promise((done, fail) =>
    image.toBlob(
      (blob) =>
        blob ? done(blob) : fail(new Error("cannot export the chart: the image is too large")),
      "image/png",
    ),
  );
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
