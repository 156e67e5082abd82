import { duration } from "@/format";

/** A number of the API: where its type says number it may be the text "NaN" or "Infinity", for which JSON has no number. */
export function numberOf(said: number | string | undefined): number {
  return Number(said ?? NaN);
}

/**
 * A number as short as it can be said: four significant digits, powers of ten where it is far from 1. Of
 * what was measured alone: what someone chose is shown as it is.
 *
 * @param said may be a text, as of numberOf.
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

/** A number with the same count of decimals as its column. */
export function formatFixed(value: number, decimals: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size >= 1e7 || (size > 0 && size < 10 ** -decimals)) {
    return formatNumber(value);
  }
  return value.toFixed(decimals);
}

/** The decimals (0 to 4) with which all of a column's numbers can be told apart. */
export function decimalsOf(values: readonly number[]): number {
  let most = 0;
  for (const value of values) {
    if (!Number.isFinite(value) || Number.isInteger(value)) continue;
    const text = String(Number(value.toPrecision(4)));
    const dot = text.indexOf(".");
    if (dot >= 0 && !text.includes("e")) most = Math.max(most, text.length - dot - 1);
  }
  return Math.min(4, most);
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
