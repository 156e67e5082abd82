/**
 * About `max` round values from `least` to `greatest`, ascending: multiples of 1, 2 or 5 times a power of
 * ten.
 */
export function computeTicks(least: number, greatest: number, max = 6): number[] {
  if (!Number.isFinite(least) || !Number.isFinite(greatest)) return [];
  if (least === greatest) return [least];
  const rough = (greatest - least) / Math.max(1, max - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const ticks: number[] = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= greatest + step * 1e-9; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

/** A scale: maps a value to a position from 0 to 1 and has ticks. */
export interface Scale {
  share: (value: number) => number;
  ticks: number[];
}

/** A scale from `least` to `greatest`; logarithmic if requested and all values are positive. */
export function numberScale(least: number, greatest: number, isLog: boolean): Scale {
  if (isLog && least > 0) {
    const from = Math.log10(least);
    const span = Math.log10(greatest) - from || 1;
    const ticks: number[] = [];
    for (let e = Math.ceil(from - 1e-9); e <= Math.log10(greatest) + 1e-9; e++) ticks.push(10 ** e);
    const shown = ticks.length >= 2 ? ticks : [least, greatest];
    return { share: (value) => (Math.log10(value) - from) / span, ticks: shown };
  }
  const span = greatest - least || 1;
  return { share: (value) => (value - least) / span, ticks: computeTicks(least, greatest) };
}
