import { expect, test } from "vitest";
import { nearbyPages } from "./nearbyPages";

test("lists visible pages before those to prefetch", () => {
  expect(nearbyPages(950, 1010, 5000, 100, "down")).toEqual([9, 10, 11, 12, 13, 8]);
  expect(nearbyPages(950, 1010, 5000, 100, "up")).toEqual([9, 10, 8, 7, 6, 11]);
});

test("lists no page outside the table", () => {
  expect(nearbyPages(0, 50, 5000, 100, "up")).toEqual([0, 1]);
  expect(nearbyPages(4950, 5000, 5000, 100, "down")).toEqual([49, 48]);
  expect(nearbyPages(0, 50, 0, 100, "none")).toEqual([0]);
  expect(nearbyPages(900, 950, 120, 100, "up")).toEqual([1, 0]);
});

test("prefetches one page before the first scroll", () => {
  expect(nearbyPages(0, 50, 5000, 100, "none")).toEqual([0, 1]);
});
