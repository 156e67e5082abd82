import { expect, it } from "vitest";
import { toBins, toCells } from "./heatMapCells";

it("gives strings and few numbers a bin each, in order", () => {
  expect(toBins({ name: "act", values: ["tanh", undefined, "relu"] })).toEqual({
    of: [1, -1, 0],
    names: ["relu", "tanh"],
  });
  expect(toBins({ name: "depth", values: [16, 2, 16] })).toEqual({
    of: [1, 0, 1],
    names: ["2", "16"],
  });
});

it("puts many numbers into equal bins, by logarithm on a logarithmic axis", () => {
  const values = Array.from({ length: 17 }, (_, i) => 10 ** (i / 2 - 8));
  const { of, names } = toBins({ name: "lr", values, isLog: true });
  expect(names).toHaveLength(8);
  expect(names[0]).toBe("1e-8 – 1e-7");
  expect(of.slice(0, 3)).toEqual([0, 0, 1]);
  expect(of.at(-1)).toBe(7);
});

it("shows the best value of each pair and the number of values", () => {
  const across = { of: [0, 0, 1, -1], names: ["a", "b"] };
  const down = { of: [0, 0, 1, 1], names: ["x", "y"] };
  expect(toCells(across, down, [3, 2, NaN, 1], true)).toEqual([
    [{ best: 2, count: 2 }, undefined],
    [undefined, undefined],
  ]);
  expect(toCells(across, down, [3, 2, 4, 1], false)[0]?.[0]?.best).toBe(3);
});
