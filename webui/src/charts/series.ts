/** One curve: `x` ascending, `y` as long; a `y` that is not a number is a gap. */
export interface Series {
  /** Stable across the charts of a page; decides the colour. */
  id: string;
  label: string;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  /** Index in the page's order of series, from 0; decides the colour. */
  rank: number;
  /** The reported values that are NaN or infinite, by their x; there `y` is NaN. */
  invalid?: ReadonlyMap<number, number>;
  /** Positions of checkpoints: ticks on the x axis. */
  checkpoints?: readonly number[];
  /** Positions of restarts: vertical lines. */
  restarts?: readonly number[];
}

/** The index of the element of ascending `x` nearest to `at`; -1 if `x` is empty. */
export function findNearestIndex(x: ArrayLike<number>, at: number): number {
  let low = 0;
  let high = x.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) < at) low = middle;
    else high = middle;
  }
  return at - (x[low] ?? 0) <= (x[high] ?? 0) - at ? low : high;
}

/** The first index of ascending `x` whose element is not below `at`; `x.length` if there is none. */
export function lowerBound(x: ArrayLike<number>, at: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The smallest and largest accepted value of all columns; undefined if there is none. */
export function computeExtent(
  columns: readonly ArrayLike<number>[],
  accept: (value: number) => boolean = Number.isFinite,
): [number, number] | undefined {
  let lowest = Infinity;
  let highest = -Infinity;
  for (const column of columns) {
    for (let i = 0; i < column.length; i++) {
      const value = column[i] ?? NaN;
      if (!accept(value)) continue;
      if (value < lowest) lowest = value;
      if (value > highest) highest = value;
    }
  }
  return lowest <= highest ? [lowest, highest] : undefined;
}
