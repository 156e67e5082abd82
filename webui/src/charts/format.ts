import { duration } from "@/format";

/** A number of the API: where its type says number it may be the text "NaN" or "Infinity", for which JSON has no number. */
export function toNumber(said: number | string | undefined): number {
  return Number(said ?? NaN);
}

/**
 * A number as short as it can be said: four significant digits, powers of ten where it is far from 1. Of
 * what was measured alone: what someone chose is shown as it is.
 *
 * @param said may be a text, as of toNumber.
 */
export function formatNumber(said: number | string | undefined | null): string {
  if (said === undefined || said === null) return "–";
  const value = Number(said);
  if (typeof said === "string" && Number.isNaN(value)) return said;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return String(value);
  if (size >= 1e6 || size < 1e-3)
    return value
      .toExponential(3)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

/** A number with the same count of decimals as its column, unless they would say too little of it. */
export function formatFixed(value: number, decimals: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size >= 1e7) return formatNumber(value);
  const text = value.toFixed(decimals);
  return Math.abs(Number(text) - value) > size / 20 ? formatNumber(value) : text;
}

/** The decimals (0 to 6) of a column: as many as its numbers have, and four digits of the greatest at max. */
export function countDecimals(values: readonly number[]): number {
  let needed = 0;
  let greatest = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    greatest = Math.max(greatest, Math.abs(value));
    const text = String(Number(value.toPrecision(4)));
    const dot = text.indexOf(".");
    if (dot >= 0 && !text.includes("e")) needed = Math.max(needed, text.length - dot - 1);
  }
  if (greatest === 0) return 0;
  return Math.min(needed, 6, Math.max(0, 3 - Math.floor(Math.log10(greatest))));
}

/** Seconds from a start: "2.5 s", "4 min 10 s". */
export function seconds(value: number): string {
  return Math.abs(value) < 60 ? `${formatNumber(value)} s` : duration(value);
}

/** Bytes with a unit: "14 GB" (powers of 1,000). */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit] ?? ""}`;
}
