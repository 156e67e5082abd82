/**
 * Merges sorted new positions into sorted old ones: returns for each position of the result the index of an
 * old one, or -1 - i for the new one with index i. A new position replaces an equal old one.
 */
export function mergeOrder(old: ArrayLike<number>, added: readonly number[]): number[] {
  const order: number[] = [];
  let next = 0;
  for (let i = 0; i < old.length; i++) {
    const at = old[i] ?? NaN;
    while (next < added.length && (added[next] ?? NaN) < at) {
      order.push(-1 - next);
      next++;
    }
    if (added[next] !== at) order.push(i);
  }
  while (next < added.length) {
    order.push(-1 - next);
    next++;
  }
  return order;
}

/**
 * Downsamples values to about `max`: returns the indices of the first, the last, and the smallest and largest
 * of each of equal sections between them, as the master does.
 */
export function downsample(values: ArrayLike<number>, max: number): number[] {
  if (values.length <= max) return Array.from(values, (_, i) => i);
  const inner = values.length - 2;
  const stretches = Math.max(1, Math.floor((max - 2) / 2));
  const kept = [0];
  for (let stretch = 0; stretch < stretches; stretch++) {
    const begin = 1 + Math.floor((inner * stretch) / stretches);
    const end = 1 + Math.floor((inner * (stretch + 1)) / stretches);
    let lowest = begin;
    let highest = begin;
    for (let i = begin; i < end; i++) {
      const value = values[i] ?? NaN;
      if (value < (values[lowest] ?? NaN) || Number.isNaN(values[lowest])) lowest = i;
      if (value > (values[highest] ?? NaN) || Number.isNaN(values[highest])) highest = i;
    }
    kept.push(Math.min(lowest, highest));
    if (lowest !== highest) kept.push(Math.max(lowest, highest));
  }
  kept.push(values.length - 1);
  return kept;
}
