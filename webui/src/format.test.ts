import { expect, test } from "vitest";
import { formatDuration, formatLocalTime, formatPercent, formatRelativeTime } from "./format";

test.each([
  [0, "0 s"],
  [40, "40 s"],
  [60, "1 min"],
  [7_500, "2 h 5 min"],
  [86_400 * 3 + 59, "3 d"],
  [-3, "0 s"],
])("formats %d s as %s", (seconds, words) => {
  expect(formatDuration(seconds)).toBe(words);
});

test.each([
  [1_000, "just now"],
  [240_000, "4 min ago"],
  [7_500_000, "2 h ago"],
  [-10_800_000, "in 3 h"],
])("formats a time %d ms ago as %s", (ago, words) => {
  expect(formatRelativeTime(1e12 - ago, 1e12)).toBe(words);
});

test("rounds percentages down", () => {
  expect([0, 0.999, 1, 2].map(formatPercent)).toEqual(["0 %", "99 %", "100 %", "100 %"]);
});

test.each([
  ["America/St_Johns", "2026-01-31T20:30:00.123-03:30"],
  ["Asia/Tokyo", "2026-02-01T09:00:00.123+09:00"],
  ["UTC", "2026-02-01T00:00:00.123+00:00"],
])("formats a time in the zone %s", (zone, text) => {
  const before = process.env.TZ;
  process.env.TZ = zone;
  expect(formatLocalTime("2026-02-01T00:00:00.123456789Z")).toBe(text);
  expect(formatLocalTime("soon")).toBe("");
  process.env.TZ = before;
});
