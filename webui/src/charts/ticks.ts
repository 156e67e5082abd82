import { formatNumber } from "./format";

/**
 * About `max` round values from `lowest` to `highest`, ascending: multiples of 1, 2 or 5 times a power of
 * ten.
 */
export function computeTicks(lowest: number, highest: number, max = 6): number[] {
  if (!Number.isFinite(lowest) || !Number.isFinite(highest)) return [];
  if (lowest === highest) return [lowest];
  const rough = (highest - lowest) / Math.max(1, max - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  // Neighbouring floating-point numbers have no values between them.
  if (!(step > 0) || Math.max(-lowest, highest) / step > 2 ** 52) return [lowest, highest];
  const ticks: number[] = [];
  for (let i = Math.ceil(lowest / step - 1e-9); i * step <= highest + step * 1e-9; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

/** The labels of an axis: with as many digits as its ticks need, so that no two labels are equal. */
export function formatTicks(ticks: readonly number[]): string[] {
  const steps = ticks.slice(1).map((tick, i) => Math.abs(tick - (ticks[i] ?? 0)));
  const tolerated = Math.min(...steps) / 100;
  for (let digits = 4; digits < 12; digits++) {
    const labels = ticks.map((tick) => formatNumber(tick, digits));
    if (ticks.every((tick, i) => Math.abs(Number(labels[i]) - tick) <= tolerated)) return labels;
  }
  return ticks.map(String);
}

/** The labels of an axis by a format; a label equal to the one before is left out. */
export function formatTicksBy(ticks: readonly number[], format: (tick: number) => string) {
  const labels = ticks.map(format);
  return labels.map((label, i) => (label === labels[i - 1] ? "" : label));
}

/** Whether all positions on an x axis are integers. */
export const isIntegerAxis = (label: string) => label === "batches";

/** The ticks that an x axis may have: there is no half batch. */
export const keepIntegers = (ticks: readonly number[], label: string) =>
  isIntegerAxis(label) ? ticks.filter(Number.isInteger) : [...ticks];

/** A scale: maps a value to a position from 0 to 1 and has ticks. */
export interface Scale {
  share: (value: number) => number;
  ticks: number[];
}

/** A scale from `lowest` to `highest`; logarithmic if requested and all values are positive. */
export function numberScale(lowest: number, highest: number, isLog: boolean): Scale {
  if (isLog && lowest > 0) {
    const from = Math.log10(lowest);
    const span = Math.log10(highest) - from || 1;
    const ticks: number[] = [];
    for (let e = Math.ceil(from - 1e-9); e <= Math.log10(highest) + 1e-9; e++) ticks.push(10 ** e);
    const shown = ticks.length >= 2 ? ticks : [lowest, highest];
    return { share: (value) => (Math.log10(value) - from) / span, ticks: shown };
  }
  const span = highest - lowest || 1;
  return { share: (value) => (value - lowest) / span, ticks: computeTicks(lowest, highest) };
}
