import { render, screen } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { expect, it } from "vitest";
import type { Series } from "@/charts/series";
import { SearcherNotice } from "./SearcherNotice";

const loss = { group: "validation", name: "loss" };
const accuracy = { group: "validation", name: "accuracy" };
const training = { group: "training", name: "loss" };

const trial = (id: string, invalid?: [number, number][]): Series => ({
  id,
  label: `trial ${id}`,
  rank: 0,
  x: [],
  y: [],
  ...(invalid && { invalid: new Map(invalid) }),
});

function show(names: { group: string; name: string }[], series: Series[]) {
  render(<SearcherNotice metric="loss" names={names} series={series} />, { wrapper: MemoryRouter });
  return screen.queryByRole("note")?.textContent;
}

it("is silent while nothing is wrong", () => {
  expect(show([], [])).toBeUndefined();
  expect(show([training], [])).toBeUndefined();
  expect(show([loss, accuracy], [trial("7")])).toBeUndefined();
});

it("names what was reported instead of the searcher metric", () => {
  expect(show([training, accuracy], [])).toMatch(
    /No validation has reported the searcher metric loss.*Reported: accuracy\. .*set searcher\.metric/,
  );
});

it("says where a single trial was NaN or infinite", () => {
  const bad: [number, number][] = [
    [3, NaN],
    [4, Infinity],
  ];
  expect(show([loss], [trial("7", bad)])).toContain(
    "not a finite number: NaN at 3; ∞ at 4 (batches)",
  );
});

it("links the trials that were NaN or infinite", () => {
  expect(show([loss], [trial("7", [[3, NaN]]), trial("8")])).toContain("in 1 of 2 trials: 7");
  expect(screen.getByRole("link", { name: "7" })).toHaveAttribute("href", "/trials/7");
});
