import { paintCurves, paintMarks, toPlane, type Area, type Curve } from "./paint";

/** The curves of an area as they were painted, on a canvas of their own. */
export interface Picture {
  image: HTMLCanvasElement;
  area: Area;
}

/** Paints many curves over several frames, so that none of them is late. */
export interface GradualPainter {
  /** Begins a picture anew; one that was under way is given up. */
  begin: (curves: readonly Curve[], area: Area, ratio: number) => void;
  stop: () => void;
}

// Curves painted in one frame. It begins with few enough that a frame is seldom late where Chromium paints
// without a GPU, and learns from how late frames were.
const BATCH = { first: 40, least: 20, max: 200 };
const IN_TIME = 20;
const LATE = 25; // ms from one frame to the next

/** How many to paint next, if so many took so long. */
function nextCount(count: number, took: number): number {
  if (took < IN_TIME) return Math.min(BATCH.max, Math.round(count * 1.5));
  return took > LATE ? Math.max(BATCH.least, Math.round(count / 2)) : count;
}

/**
 * `onProgress` is called in each frame with what is painted by then; more is painted into the same picture
 * until `isWhole`.
 */
export function createGradualPainter(
  onProgress: (picture: Picture, isWhole: boolean) => void,
): GradualPainter {
  let frame = 0;
  let count = BATCH.first;

  const stop = () => cancelAnimationFrame(frame);
  const begin = (curves: readonly Curve[], area: Area, ratio: number) => {
    stop();
    // A canvas of nothing cannot be drawn.
    if (!(area.width > 0 && area.height > 0)) return;
    const image = document.createElement("canvas");
    image.width = area.width;
    image.height = area.height;
    const context = image.getContext("2d");
    if (!context) return;
    const own = { ...area, left: 0, top: 0 };
    let painted = 0;
    let before: number | undefined;
    const step = (at: number) => {
      if (before !== undefined) count = nextCount(count, at - before);
      before = at;
      const part = curves.slice(painted, painted + count);
      paintCurves(context, part, own, ratio, curves.length);
      painted += part.length;
      const isWhole = painted >= curves.length;
      if (isWhole) paintMarks(context, curves, own, ratio);
      else frame = requestAnimationFrame(step);
      onProgress({ image, area }, isWhole);
    };
    // Not at once: a width is often followed by a height.
    frame = requestAnimationFrame(step);
  };
  return { begin, stop };
}

/** Draws a picture where its x values are now; its height is stretched to the area's. */
export function drawPicture(context: CanvasRenderingContext2D, picture: Picture, now: Area): void {
  const { toX, toY } = toPlane(now);
  const { image, area: then } = picture;
  const left = toX(then.x[0]);
  const right = toX(then.x[1]);
  const bottom = toY(then.y[0]);
  const top = toY(then.y[1]);
  context.save();
  context.beginPath();
  context.rect(now.left, now.top, now.width, now.height);
  context.clip();
  context.drawImage(image, left, top, right - left, bottom - top);
  context.restore();
}
