import { expect, it } from "vitest";
import { compareLeaves, findDifferences, flattenLeaves } from "./differences";

it("finds the leaves of nested objects", () => {
  expect([...flattenLeaves({ a: { b: 1, "c.d": [1, 2] }, e: null })]).toEqual([
    ["a.b", 1],
    ["a.c.d", [1, 2]],
    ["e", null],
  ]);
});

it("finds the paths at which objects differ", () => {
  expect(
    findDifferences([
      { lr: 0.1, x: [1], same: "s" },
      { lr: 0.2, x: [1], same: "s", more: true },
    ]),
  ).toEqual([
    { path: "lr", values: [0.1, 0.2] },
    { path: "more", values: [undefined, true] },
  ]);
  expect(findDifferences([])).toEqual([]);
});

it("marks the differing paths among all paths", () => {
  expect(
    compareLeaves([
      { lr: 0.1, same: "s" },
      { lr: 0.2, same: "s" },
    ]),
  ).toEqual([
    { path: "lr", values: [0.1, 0.2], differs: true },
    { path: "same", values: ["s", "s"], differs: false },
  ]);
});
