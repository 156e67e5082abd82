import { paintCurves, paintMarks, toPlane, type Area, type Curve } from "./paint";

/** The painted curves of an area on a canvas of their own. */
export interface Picture {
  image: HTMLCanvasElement;
  area: Area;
}

/** Paints many curves over several frames, so that no frame is late. */
export interface GradualPainter {
  /** Starts a new picture; cancels one in progress. */
  begin: (curves: readonly Curve[], area: Area, ratio: number) => void;
  stop: () => void;
}

// The number of curves per frame. The initial number avoids late frames in Chromium without a GPU; it adapts
// to the measured frame times.
const BATCH = { first: 40, min: 20, max: 200 };
const IN_TIME = 20;
const LATE = 25; // ms from one frame to the next

/** The next number of curves, given the current number and its frame time. */
function nextCount(count: number, took: number): number {
  if (took < IN_TIME) return Math.min(BATCH.max, Math.round(count * 1.5));
  return took > LATE ? Math.max(BATCH.min, Math.round(count / 2)) : count;
}

/**
 * `onProgress` is called in each frame with the curves painted so far; painting continues into the same
 * picture until `isWhole`.
 */
export function createGradualPainter(
  onProgress: (picture: Picture, isWhole: boolean) => void,
): GradualPainter {
  let frame = 0;
  let count = BATCH.first;

  const stop = () => cancelAnimationFrame(frame);
  const begin = (curves: readonly Curve[], area: Area, ratio: number) => {
    stop();
    // An empty canvas cannot be drawn.
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
    // Wait for the next frame: a new width is often followed by a new height.
    frame = requestAnimationFrame(step);
  };
  return { begin, stop };
}

/** Draws a picture at the current position of its x values, with its height stretched to the area's. */
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
