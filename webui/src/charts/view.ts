/** Values of x from the first to the last that are shown. */
export type Range = readonly [from: number, to: number];

/** How curves are shown: the state of a chart. Its page keeps it, in the address. */
export interface ChartView {
  isLog: boolean;
  /** How smooth: 0 (as they are) to below 1. */
  weight: number;
  /** The series that are left out, by id. */
  hidden: ReadonlySet<string>;
  /** What is zoomed into; without: all. */
  zoom?: Range | undefined;
}

export const PLAIN_VIEW: ChartView = { isLog: false, weight: 0, hidden: new Set() };

/** The range in as few digits as nobody sees the difference: an address is read by people, too. */
export function rounded([from, to]: Range): Range {
  const digits = Math.min(20, Math.max(0, 4 - Math.floor(Math.log10(to - from))));
  return [Number(from.toFixed(digits)), Number(to.toFixed(digits))];
}

export const isSameRange = (a: Range | undefined, b: Range | undefined) =>
  a?.[0] === b?.[0] && a?.[1] === b?.[1];
