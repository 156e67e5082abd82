import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import golden from "@goldens/experiment.json";
import trials from "@goldens/trials.json";
import sample from "@goldens/sample.json";
import type { Experiment, Message } from "@/api/types";
import { like } from "@/testing/goldens";
import { showPage } from "@/testing/pages";
import { Search } from "./Search";

const experiment = like<Experiment>(golden.answer.experiment, { id: 1 });
const trial = (id: number, totalBatchesProcessed: number) =>
  like<Message["Trial"]>(trials.answer.trials[0], {
    ...{ id, totalBatchesProcessed, state: "STATE_COMPLETED" as const },
  });
const curve = (trialId: number, batches: number[], values: number[]) =>
  like(sample.answer.trials[0], {
    ...{ trialId, columns: { batches, values } as never },
  });

function show(search: Message["Search"]) {
  showPage(() => <Search experiment={experiment} />, "/", "/", {
    "GET /api/v1/experiments/1/search": { search },
    "GET /api/v1/experiments/1/trials": { trials: [trial(7, 4), trial(8, 16)] },
    "GET /api/v1/experiments/1/metrics-stream/trials-sample": {
      result: { trials: [curve(7, [4], [3]), curve(8, [4, 16], [2, 1])] },
    },
  });
}

const objectives = [{ metric: "loss", smallerIsBetter: true }];
const rungs = [
  { length: 4, reported: "2", continued: "1", best: 2 },
  { length: 16, reported: "1", continued: "0", best: 1 },
];

it("shows counts by bracket, and rung by rung who went on and who was stopped, with links", async () => {
  show({ name: "adaptive_asha", unit: "batches", objectives, brackets: [{ rungs }] });
  const table = within(await screen.findByRole("group", { name: "Bracket 1" }));
  expect(table.getByRole("row", { name: "4 2 1 1 2" })).toBeVisible();
  const who = within(await screen.findByRole("group", { name: "Rung by rung" }));
  expect(who.getByRole("row", { name: /^16 1 1 .*8 1 done/ })).toBeVisible();
  expect(who.getByRole("row", { name: /^4 1 2 .*8 2 went on.*7 3 stopped/ })).toBeVisible();
  expect(who.getByRole("link", { name: "7" })).toHaveAttribute("href", "/trials/7");
});

it("says why it does not know who came where, if lengths are no batches", async () => {
  show({ name: "asha", unit: "epochs", objectives, brackets: [{ rungs }] });
  expect(await screen.findByText(/this search counts epochs/)).toBeVisible();
});

it("shows the front of several objectives", async () => {
  const front = [{ trialId: 8, stepsCompleted: 16, metrics: [1, 0.5], hparams: { lr: 0.1 } }];
  show({
    ...{ name: "random", unit: "batches", front: front as never },
    objectives: [...objectives, { metric: "accuracy", smallerIsBetter: false }],
  });
  const table = within(await screen.findByRole("group", { name: "Front" }));
  expect(table.getByRole("row", { name: "8 16 1 0.5 lr 0.1" })).toBeVisible();
  expect(table.getByRole("columnheader", { name: "accuracy ↑" })).toBeVisible();
});
