import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createGradualPainter, drawPicture, type Picture } from "./gradual";
import type { Area, Curve } from "./paint";

const area: Area = {
  left: 50,
  top: 10,
  width: 400,
  height: 200,
  x: [0, 100] as const,
  y: [0, 1] as const,
  isLog: false,
};
const curves = (count: number): Curve[] =>
  Array.from({ length: count }, (_, rank) => {
    const y = [0, 1];
    return { y, series: { id: `${rank}`, label: `${rank}`, x: [0, 100], y, rank } };
  });

const frames = new Map<number, FrameRequestCallback>();
let requested = 0;
let strokes = 0;
let at = 0; // ms

beforeEach(() => {
  frames.clear();
  strokes = 0;
  vi.stubGlobal("requestAnimationFrame", (step: FrameRequestCallback) => {
    frames.set(++requested, step);
    return requested;
  });
  vi.stubGlobal("cancelAnimationFrame", (frame: number) => frames.delete(frame));
  const context = new Proxy(
    { stroke: () => strokes++ },
    { get: (target, name) => (name === "stroke" ? target.stroke : vi.fn()), set: () => true },
  );
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(context as never);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** Runs the next frame `later` ms after the last one; returns the number of painted curves. */
function playOne(later = 17): number {
  const before = strokes;
  const [frame, step] = [...frames][0] ?? [0];
  frames.delete(frame);
  at += later;
  step?.(at);
  return strokes - before;
}

/** Runs frames until none is requested. */
function play(later?: number): number[] {
  const painted: number[] = [];
  while (frames.size > 0) painted.push(playOne(later));
  return painted;
}

it("paints each curve once over several frames and reports completion", () => {
  const progress: boolean[] = [];
  createGradualPainter((_, isWhole) => progress.push(isWhole)).begin(curves(500), area, 1);
  expect(strokes).toBe(0);
  const painted = play();
  expect(painted[0]).toBeLessThanOrEqual(50);
  expect(painted.length).toBeGreaterThan(3);
  expect(strokes).toBe(500);
  expect(progress.filter(Boolean)).toEqual([true]);
  expect(progress.at(-1)).toBe(true);
});

it("paints more curves per frame while frames are on time, and fewer when they are late", () => {
  const painter = createGradualPainter(vi.fn());
  painter.begin(curves(500), area, 1);
  const [first, second] = play() as [number, number];
  expect(second).toBeGreaterThan(first);
  painter.begin(curves(5000), area, 1);
  const late = play(50);
  expect(late.at(-2)).toBeLessThan(late[0] ?? 0);
  expect(late.at(-2)).toBe(20);
});

it("cancels a picture when another begins", () => {
  const whole: Picture[] = [];
  const painter = createGradualPainter((picture, isWhole) => {
    if (isWhole) whole.push(picture);
  });
  painter.begin(curves(500), area, 1);
  playOne();
  const nextArea: Area = { ...area, x: [20, 40] };
  painter.begin(curves(60), nextArea, 1);
  play();
  expect(whole.map((picture) => picture.area)).toEqual([nextArea]);
});

it("paints nothing in an empty area", () => {
  createGradualPainter(vi.fn()).begin(curves(500), { ...area, width: 0 }, 1);
  expect(play()).toEqual([]);
});

it("draws a picture at the current position of its values", () => {
  const drawImage = vi.fn();
  const context = { save: vi.fn(), restore: vi.fn(), beginPath: vi.fn(), rect: vi.fn() };
  const image = document.createElement("canvas");
  drawPicture(
    { ...context, clip: vi.fn(), drawImage } as unknown as CanvasRenderingContext2D,
    { image, area },
    { ...area, x: [50, 100], y: [0, 2] },
  );
  // Twice as wide, so that its middle is at the left edge, and half as high.
  expect(drawImage).toHaveBeenCalledWith(image, -350, 110, 800, 100);
});
