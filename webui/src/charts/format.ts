import { formatDuration } from "@/format";

/** Converts a number of the API, which sends NaN and infinities as the strings "NaN" and "Infinity". */
export function toNumber(raw: number | string | undefined): number {
  return Number(raw ?? NaN);
}

/**
 * Formats a measured number with four (or `digits`) significant digits; very large and small ones with an exponent. For
 * chosen values, such as hyperparameters, see formatValue.
 */
export function formatNumber(raw: number | string | undefined | null, digits = 4): string {
  if (raw === undefined || raw === null || raw === "") return "–";
  const value = Number(raw);
  if (typeof raw === "string" && Number.isNaN(value)) return raw;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return String(value);
  if (size >= 1e6 || size < 1e-3)
    return value
      .toExponential(digits - 1)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

/** Formats a step, position or count with all its digits. */
export function formatStep(raw: number | string | undefined | null): string {
  const value = Number(raw ?? NaN);
  const isWhole = raw !== "" && Number.isInteger(value) && Math.abs(value) < 1e15;
  return isWhole ? String(value) : formatNumber(raw);
}

/**
 * Formats a chosen value, such as a hyperparameter: fractions like measured numbers, integers and texts
 * unchanged, lists and objects with formatted parts: "[0.1235, adam]". `components/Value` adds the exact value
 * as a tooltip.
 */
export function formatValue(value: unknown): string {
  if (value === undefined) return "–";
  if (typeof value === "number" && !Number.isInteger(value)) return formatNumber(value);
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return `[${value.map(formatValue).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).map(([name, part]) => `${name}: ${formatValue(part)}`);
  return `{${parts.join(", ")}}`;
}

/** The exact text of a value that formatValue shortens. */
export const toExactText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/** Formats a number with the decimals of its column, unless that loses too much precision. */
export function formatFixed(value: number, decimals: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size >= 1e7) return formatNumber(value);
  const text = value.toFixed(decimals);
  return Math.abs(Number(text) - value) > size / 20 ? formatNumber(value) : text;
}

/**
 * The number of decimals (0 to 6) of a column: as many as its numbers have, and at most four digits of the
 * largest.
 */
export function countDecimals(values: readonly number[]): number {
  let needed = 0;
  let highest = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    highest = Math.max(highest, Math.abs(value));
    const text = String(Number(value.toPrecision(4)));
    const dot = text.indexOf(".");
    if (dot >= 0 && !text.includes("e")) needed = Math.max(needed, text.length - dot - 1);
  }
  if (highest === 0) return 0;
  return Math.min(needed, 6, Math.max(0, 3 - Math.floor(Math.log10(highest))));
}

/** Formats seconds since a start: "2.5 s", "4 min 10 s". */
export function seconds(value: number): string {
  return Math.abs(value) < 60 ? `${formatNumber(value)} s` : formatDuration(value);
}

/** Formats bytes with a unit: "14 GB" (powers of 1,000). */
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
