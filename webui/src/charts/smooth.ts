/**
 * Exponential moving average with bias correction. Gaps stay gaps.
 *
 * @param weight from 0 (unchanged) to below 1 (very smooth): the weight of the past.
 */
export function smooth(y: ArrayLike<number>, weight: number): Float64Array {
  const out = new Float64Array(y.length);
  let average = 0;
  let correction = 1;
  for (let i = 0; i < y.length; i++) {
    const value = y[i] ?? NaN;
    if (!Number.isFinite(value)) {
      out[i] = NaN;
      continue;
    }
    average = weight * average + (1 - weight) * value;
    correction *= weight;
    out[i] = average / (1 - correction);
  }
  return out;
}
