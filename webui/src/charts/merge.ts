/**
 * How new places (ascending, each once) come among old ones (ascending): for each place of the outcome the
 * index of an old one, or -1 - i for the new one of index i. A new one replaces an old one that is equal.
 */
export function mergeOrder(old: ArrayLike<number>, added: readonly number[]): number[] {
  const places: number[] = [];
  let next = 0;
  for (let i = 0; i < old.length; i++) {
    const at = old[i] ?? NaN;
    while (next < added.length && (added[next] ?? NaN) < at) {
      places.push(-1 - next);
      next++;
    }
    if (added[next] !== at) places.push(i);
  }
  while (next < added.length) {
    places.push(-1 - next);
    next++;
  }
  return places;
}

/** The indices of at max about `max` of the values: the first, the last, and of each of equal stretches in between the least and the greatest, as the master thins curves out. */
export function downsample(values: ArrayLike<number>, max: number): number[] {
  if (values.length <= max) return Array.from(values, (_, i) => i);
  const inner = values.length - 2;
  const stretches = Math.max(1, Math.floor((max - 2) / 2));
  const kept = [0];
  for (let stretch = 0; stretch < stretches; stretch++) {
    const begin = 1 + Math.floor((inner * stretch) / stretches);
    const end = 1 + Math.floor((inner * (stretch + 1)) / stretches);
    let least = begin;
    let greatest = begin;
    for (let i = begin; i < end; i++) {
      const value = values[i] ?? NaN;
      if (value < (values[least] ?? NaN) || Number.isNaN(values[least])) least = i;
      if (value > (values[greatest] ?? NaN) || Number.isNaN(values[greatest])) greatest = i;
    }
    kept.push(Math.min(least, greatest));
    if (least !== greatest) kept.push(Math.max(least, greatest));
  }
  kept.push(values.length - 1);
  return kept;
}
