/** One curve: `x` ascending, `y` as long; a `y` that is not a number is a gap. */
export interface Series {
  /** Stable over the charts of a page: it decides the colour. */
  id: string;
  label: string;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  /** Place in the page's order of series, from 0; colours follow it. */
  rank: number;
  /** Lengths at which a checkpoint was saved: ticks on the x axis. */
  checkpoints?: readonly number[];
  /** Where it was started anew: lines across the plot. */
  restarts?: readonly number[];
}

/** The index of the element of ascending `x` that lies nearest to `at`; -1 of none. */
export function nearestIndex(x: ArrayLike<number>, at: number): number {
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

/** The first index of ascending `x` whose element is not below `at`; `x.length` if none is. */
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

/** The least and greatest finite value, over all given; undefined where there is none. */
export function extent(
  columns: readonly ArrayLike<number>[],
  accept: (value: number) => boolean = Number.isFinite,
): [number, number] | undefined {
  let least = Infinity;
  let greatest = -Infinity;
  for (const column of columns) {
    for (let i = 0; i < column.length; i++) {
      const value = column[i] ?? NaN;
      if (!accept(value)) continue;
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
  }
  return least <= greatest ? [least, greatest] : undefined;
}
