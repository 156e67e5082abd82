/** A range of x values. */
export type Range = readonly [from: number, to: number];

/** The state of a chart. Its page keeps it in the address. */
export interface ChartView {
  isLog: boolean;
  /** Smoothing weight: 0 (none) to below 1. */
  weight: number;
  /** The IDs of hidden series. */
  hidden: ReadonlySet<string>;
  /** The zoomed range; undefined for all. */
  zoom?: Range | undefined;
}

export const PLAIN_VIEW: ChartView = { isLog: false, weight: 0, hidden: new Set() };

/** Rounds a range to a precision below one pixel, for a readable address. */
export function roundRange([from, to]: Range): Range {
  const digits = Math.min(20, Math.max(0, 4 - Math.floor(Math.log10(to - from))));
  return [Number(from.toFixed(digits)), Number(to.toFixed(digits))];
}

export const isSameRange = (a: Range | undefined, b: Range | undefined) =>
  a?.[0] === b?.[0] && a?.[1] === b?.[1];
