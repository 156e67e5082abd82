import { describe, expect, it } from "vitest";
import { getStroke, viridis, needsDarkText } from "./colours";
import { drawCurve, type Plane } from "./columns";
import { seriesToCsv, toSvgPath } from "./export";
import {
  countDecimals,
  formatBytes,
  formatFixed,
  formatNumber,
  formatStep,
  formatValue,
} from "./format";
import { describeInvalid } from "./invalid";
import { computeLegendHeight, layoutLegend } from "./legendRows";
import { findNearestCurves, findNextPoint } from "./nearest";
import { toCurves, computeYRange, toPlane, computeXRange } from "./paint";
import { lowerBound, findNearestIndex, type Series } from "./series";
import { truncateMiddle } from "./ParallelCoordinates";
import { smooth } from "./smooth";
import { toSvg } from "./svg";
import { roundRange } from "./view";
import { computeTicks, formatTicks, formatTicksBy, keepIntegers, numberScale } from "./ticks";

const series = (id: string, y: number[], rank = 0): Series => ({
  id,
  label: id,
  rank,
  y,
  x: y.map((_, i) => i),
});

describe("curve", () => {
  const drawn = (y: number[], width: number, from = 0, to = y.length - 1) => {
    const points: [number, number][] = [];
    const plane: Plane = {
      from,
      to,
      toY: (v) => v,
      toX: (x) => ((x - from) / (to - from)) * width,
    };
    const add = (x: number, v: number) => void points.push([x, v]);
    const x = y.map((_, i) => i);
    drawCurve({ moveTo: add, lineTo: add }, x, y, plane);
    return points;
  };

  it("draws every point when there is room", () => {
    expect(drawn([1, 3, 2], 100)).toEqual([
      [0, 1],
      [50, 3],
      [100, 2],
    ]);
  });

  it("keeps each peak of points in the same column at a cost bounded by the width", () => {
    const y = Array.from({ length: 100_000 }, (_, i) =>
      i === 54_321 ? 99 : i === 12_345 ? -99 : 0,
    );
    const points = drawn(y, 100);
    const heights = points.map(([, height]) => height);
    expect(heights).toContain(99);
    expect(heights).toContain(-99);
    expect(points.length).toBeLessThan(4 * 201);
  });

  it("draws a point between gaps", () => {
    expect(drawn([NaN, 3, NaN], 100)).toEqual([
      [50, 3],
      [48, 3],
      [52, 3],
    ]);
  });

  it("has gaps for missing values", () => {
    expect(
      toSvgPath([0, 1, 2, 3], [1, NaN, 2, 3], { from: 0, to: 3, toX: (x) => x, toY: (y) => y }),
    ).toBe("M0 1M-2 1L2 1M2 2L3 3");
  });

  it("draws one point beyond each end of the visible range", () => {
    const x = drawn([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10, 4, 5).map(([at]) => at);
    expect(x.length).toBeLessThanOrEqual(5);
    expect(Math.min(...x)).toBeLessThan(0);
    expect(Math.max(...x)).toBeGreaterThan(10);
  });
});

it("finds positions in ascending numbers", () => {
  expect(findNearestIndex([], 1)).toBe(-1);
  expect([0, 1.4, 1.6, 99].map((at) => findNearestIndex([0, 1, 2], at))).toEqual([0, 1, 2, 2]);
  expect([-1, 1, 1.5, 9].map((at) => lowerBound([0, 1, 2], at))).toEqual([0, 1, 2, 3]);
});

it("smooths without a bias towards zero at the start, and keeps gaps", () => {
  expect([...smooth([4, 4, 4], 0.9)].map((v) => Number(v.toFixed(9)))).toEqual([4, 4, 4]);
  expect([...smooth([1, NaN, 3], 0.5)]).toEqual([1, NaN, 7 / 3]);
});

describe("visible range", () => {
  const curves = toCurves([series("a", [1, 5, 2]), series("b", [10, 20, 30], 1)], new Set(), 0);

  it("spans all curves", () => {
    expect(computeXRange(curves)).toEqual([0, 2]);
    const [lowest, highest] = computeYRange(curves, 0, 2, false);
    expect(lowest).toBeLessThan(1);
    expect(highest).toBeGreaterThan(30);
    expect(computeYRange(curves, 0, 0.5, false)[1]).toBeLessThan(11);
    expect(computeYRange([], 0, 1, true)).toEqual([0.1, 1]);
  });

  it("leaves out hidden curves", () => {
    expect(toCurves([series("a", [1])], new Set(["a"]), 0)).toEqual([]);
  });

  it("leaves out values that are not positive on a logarithmic axis", () => {
    const plane = toPlane({
      left: 0,
      top: 0,
      width: 10,
      height: 10,
      x: [0, 1],
      y: [1, 100],
      isLog: true,
    });
    expect(plane.toY(10)).toBeCloseTo(5);
    expect(plane.toY(0)).toBeNaN();
  });

  it("lists the nearest curves first", () => {
    const plane = toPlane({
      left: 0,
      top: 0,
      width: 10,
      height: 30,
      x: [0, 2],
      y: [0, 30],
      isLog: false,
    });
    const near = findNearestCurves(curves, plane, { x: 1.1, top: 12 }, 5);
    expect(near.map(({ curve, y }) => [curve.series.id, y])).toEqual([
      ["b", 20],
      ["a", 5],
    ]);
  });

  describe("near the crosshair", () => {
    const plane = toPlane({
      left: 0,
      top: 0,
      width: 100,
      height: 100,
      x: [-1, 1],
      y: [0, 100],
      isLog: false,
    });
    const find = (x: number, ...list: Series[]) =>
      findNearestCurves(toCurves(list, new Set(), 0), plane, { x, top: 50 }, 24).map(({ y }) => y);

    it("finds a curve with a single point, from a few pixels beside it", () => {
      expect([find(0.4, series("a", [7])), find(0.9, series("a", [7]))]).toEqual([[7], []]);
    });

    it("lists NaN and infinite values after the others", () => {
      const bad = { ...series("bad", [NaN]), invalid: new Map([[0, NaN]]) };
      const high = { ...series("high", [NaN]), invalid: new Map([[0, Infinity]]) };
      expect(find(0, bad, high, series("gap", [NaN]), series("a", [7]))).toEqual([
        7,
        NaN,
        Infinity,
      ]);
    });
  });
});

it("gives each rank a stroke", () => {
  const first = Array.from({ length: 16 }, (_, rank) => JSON.stringify(getStroke(rank)));
  expect(new Set(first).size).toBe(16);
  expect(getStroke(8).dash).not.toEqual([]);
  expect(getStroke(16)).toEqual(getStroke(0));
});

it("colours shares by viridis with the largest most prominent on light and dark pages", () => {
  expect(viridis(1)).toBe("rgb(68 1 84)");
  expect(viridis(1, true)).toBe("rgb(253 231 37)");
  expect(viridis(7)).toBe(viridis(1));
  expect(viridis(NaN)).toBe(viridis(0));
  expect([needsDarkText(0), needsDarkText(1)]).toEqual([true, false]);
});

describe("axes", () => {
  it("have round ticks", () => {
    expect(computeTicks(0, 1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(computeTicks(0.13, 0.47)).toEqual([0.2, 0.3, 0.4]);
    expect(computeTicks(5, 5)).toEqual([5]);
    expect(computeTicks(NaN, 1)).toEqual([]);
    const next = 1e16 + 2;
    expect(computeTicks(1e16, next)).toEqual([1e16, next]);
    expect(computeTicks(0, Number.MIN_VALUE)).toEqual([0, Number.MIN_VALUE]);
    expect(computeTicks(-1e300, -1e300 + 2e284)).toHaveLength(2);
    expect(computeTicks(1, 1 + Number.EPSILON)).toEqual([1, 1 + Number.EPSILON]);
  });

  it("label different ticks differently", () => {
    expect(formatTicks([199.8, 200, 200.05])).toEqual(["199.8", "200", "200.05"]);
    expect(formatTicks([0.972811, 0.972812])).toEqual(["0.972811", "0.972812"]);
    expect(formatTicksBy([1.1, 1.2, 2], (x) => x.toFixed(0))).toEqual(["1", "", "2"]);
  });

  it("have no half batches", () => {
    expect(keepIntegers([199.5, 200, 200.5], "batches")).toEqual([200]);
    expect(keepIntegers([0.5, 1], "epochs")).toEqual([0.5, 1]);
  });

  it("use powers of ten on a logarithmic scale", () => {
    const scale = numberScale(0.001, 1, true);
    expect(scale.ticks.map((tick) => Number(tick.toPrecision(3)))).toEqual([0.001, 0.01, 0.1, 1]);
    expect(scale.share(0.1)).toBeCloseTo(2 / 3);
    expect(numberScale(0, 1, true).share(0.5)).toBeCloseTo(0.5);
  });
});

it("formats numbers briefly", () => {
  const cases: [number | string | undefined, string][] = [
    [undefined, "–"],
    ["", "–"],
    [0, "0"],
    [42, "42"],
    [0.123456, "0.1235"],
    [0.0001, "1e-4"],
    [123456.789, "123500"],
    [12345678, "1.235e7"],
    [-Infinity, "-∞"],
    ["NaN", "NaN"],
    ["Infinity", "∞"],
    [NaN, "NaN"],
  ];
  for (const [value, text] of cases) expect(formatNumber(value)).toBe(text);
  expect(countDecimals([1, 0.25, 3])).toBe(2);
  expect(formatFixed(3, 2)).toBe("3.00");
  expect(formatFixed(0.00001, 2)).toBe("1e-5");
  // The largest number has four digits; it decides the decimals of the others.
  expect(countDecimals([0.032666, 0.5])).toBe(4);
  expect(countDecimals([0.032666, NaN])).toBe(5);
  expect(countDecimals([1234.5, 0.25])).toBe(0);
  expect(countDecimals([0, 12])).toBe(0);
  expect(formatFixed(0.032666, 4)).toBe("0.0327");
  expect(formatFixed(0.25, 0)).toBe("0.25");
});

it("formats steps with all digits", () => {
  const cases: [number | string | undefined, string][] = [
    [undefined, "–"],
    ["", "–"],
    [12345678, "12345678"],
    ["12345678", "12345678"],
    [1e15, "1e15"],
    [0.123456, "0.1235"],
  ];
  for (const [value, text] of cases) expect(formatStep(value)).toBe(text);
});

it("shortens fractions of chosen values, and keeps integers and texts", () => {
  const cases: [unknown, string][] = [
    [0.0004474942081187, "4.475e-4"],
    [0.30000000000000004, "0.3"],
    [123456789, "123456789"],
    ["adam", "adam"],
    ["0.0004474942", "0.0004474942"],
    [true, "true"],
    [null, "null"],
    [undefined, "–"],
    [[0.123456, "a"], "[0.1235, a]"],
    [{ lr: 0.00012345678, deep: { n: 3 } }, "{lr: 1.235e-4, deep: {n: 3}}"],
  ];
  for (const [value, text] of cases) expect(formatValue(value)).toBe(text);
});

it("formats bytes with a unit", () => {
  expect([0, 999, 1500, 14_000_000_000].map(formatBytes)).toEqual([
    "0 B",
    "999 B",
    "1.5 kB",
    "14 GB",
  ]);
});

it("escapes CSV cells that spreadsheets take for formulas", () => {
  expect(seriesToCsv([series('=a,"b"', [1])], "x", "y")).toBe('series,x,y\r\n"\'=a,""b""",0,1\r\n');
});

it("finds the next point of any curve at least a pixel away", () => {
  const curves = toCurves([series("a", [1, 5, 2]), series("b", [1, 2, 3, 4], 1)], new Set(), 0);
  const next = (from: number | undefined, direction: number, width = 100) =>
    findNextPoint(curves, [0, 3], from, direction, width);
  expect([next(undefined, 1), next(undefined, -1)]).toEqual([0, 3]);
  expect([next(0, 1), next(2, 1), next(3, 1)]).toEqual([1, 3, undefined]);
  expect([next(3, -1), next(1.5, -1), next(0, -1)]).toEqual([2, 1, undefined]);
  // A key skips points in the same pixel.
  expect(next(0, 1, 2)).toBe(2);
  expect(findNextPoint([], [0, 1], 0, 1, 100)).toBeUndefined();
});

it("rounds a range to visible digits", () => {
  expect(roundRange([0.123456789, 1.23456789])).toEqual([0.1235, 1.2346]);
  expect(roundRange([12345.678, 98765.4321])).toEqual([12346, 98765]);
  expect(roundRange([1e-7, 2e-7])).toEqual([1e-7, 2e-7]);
});

describe("exported picture", () => {
  const many = (count: number) =>
    toCurves(
      Array.from({ length: count }, (_, i) => series(`trial ${i}`, [1, 2], i)),
      new Set(),
      0,
    );

  it("lists curve names in columns and counts omitted ones", () => {
    expect(layoutLegend(many(1), 500)).toEqual([]);
    const legend = layoutLegend(many(5), 250);
    expect(legend.map(({ left, top }) => [left, top])).toEqual([
      [0, 0],
      [79, 0],
      [158, 0],
      [0, 18],
      [79, 18],
    ]);
    expect(computeLegendHeight(legend)).toBe(36);
    expect(layoutLegend(many(100), 250).at(-1)).toMatchObject({ label: "and 40 more" });
  });

  it("contains background, title, legend and the zoomed range", () => {
    const svg = toSvg({ title: "a < b", curves: many(2), xLabel: "time", isLog: false });
    expect(new DOMParser().parseFromString(svg, "image/svg+xml").querySelector("parsererror")).toBe(
      null,
    );
    expect(svg).toContain("<rect width=");
    expect(svg).toContain("a &#60; b");
    expect(svg).toContain(">trial 1<");
    const formatX = (x: number) => `x${x}`;
    const zoomed = toSvg({
      title: "",
      curves: many(2),
      xLabel: "time",
      isLog: false,
      formatX,
      zoom: [0.5, 1],
    });
    expect(zoomed).toContain(">x0.5<");
    expect(zoomed).not.toContain(">x0<");
  });

  it("leaves out a best value that a logarithmic axis cannot show", () => {
    const picture = { title: "loss", curves: many(1), xLabel: "batches", isLog: true, best: -1 };
    expect(toSvg(picture)).not.toMatch(/NaN|Infinity/);
  });

  it("names both axes and the source, and marks NaN, infinite and best values", () => {
    const loss = {
      ...series("loss", [1, NaN, NaN]),
      invalid: new Map([
        [1, NaN],
        [2, Infinity],
      ]),
    };
    const svg = toSvg({
      title: "validation loss",
      source: "Experiment 7 mnist",
      curves: toCurves([loss], new Set(), 0),
      xLabel: "batches",
      isLog: false,
      best: 1,
    });
    for (const words of [
      /rotate\(-90\)"[^>]*>validation loss</,
      />batches</,
      />Experiment 7 mnist</,
    ])
      expect(svg).toMatch(words);
    const [, crosses = ""] = /d="(M[^"]*m[^"]*)" stroke-width/.exec(svg) ?? [];
    expect(crosses.match(/M/g)).toHaveLength(2);
    expect(svg).toContain('stroke-dasharray="2 4"');
  });

  it("lists at most a few positions of NaN and infinite values", () => {
    const of = (label: string, invalid?: [number, number][]): Series => ({
      ...series(label, [NaN]),
      ...(invalid && { invalid: new Map(invalid) }),
    });
    expect(describeInvalid([of("a")])).toBeUndefined();
    const some: [number, number][] = [1, 2, 3, 4, 5, 6, 7].map((x) => [x, NaN]);
    expect(describeInvalid([of("a", [...some, [9, -Infinity]])])).toBe(
      "NaN at 1, 2, 3, 4, 5 and 2 more; -∞ at 9",
    );
    expect(describeInvalid([of("trial 7", some), of("trial 8")])).toBe("NaN or infinite: trial 7");
  });
});

it("truncates long labels in the middle", () => {
  expect(truncateMiddle("lr", 100)).toBe("lr");
  const short = truncateMiddle("optimizer.param_groups.0.learning_rate", 100);
  expect(short).toMatch(/^optimiz….*_rate$/);
  expect(short.length).toBeLessThanOrEqual(15);
});
