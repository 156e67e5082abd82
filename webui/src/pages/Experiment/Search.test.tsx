import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import golden from "@goldens/experiment.json";
import type { Experiment, Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage } from "@/testing/pages";
import { Search } from "./Search";

const experiment = copyGolden<Experiment>(golden.answer.experiment, { id: 1 });

function show(search: Message["Search"]) {
  showPage(() => <Search experiment={experiment} />, "/", "/", {
    "GET /api/v1/experiments/1/search": { search },
  });
}

const objectives = [{ metric: "loss", smallerIsBetter: true }];
const rungs: NonNullable<Message["Search"]["brackets"]>[number]["rungs"] = [
  {
    length: 4,
    reported: "3",
    continued: "1",
    best: 2,
    arrivals: [
      { trialId: 8, metric: 2, outcome: "OUTCOME_CONTINUED" },
      { trialId: 7, metric: 3, outcome: "OUTCOME_STOPPED" },
      { trialId: 9, outcome: "OUTCOME_FAILED" },
    ],
  },
  {
    length: 16,
    reported: "2",
    continued: "0",
    best: 1,
    arrivals: [{ trialId: 8, metric: 1, outcome: "OUTCOME_DONE" }],
  },
];

it("shows the trials of each rung and their outcomes, with links", async () => {
  show({ name: "adaptive_asha", unit: "epochs", objectives, brackets: [{ rungs }] });
  const table = within(await screen.findByRole("group", { name: "Bracket 1" }));
  expect(
    table.getByRole("row", { name: /^4 3 1 2 2 .*8 2 promoted.*7 3 stopped.*9 \S* ?failed/ }),
  ).toBeVisible();
  expect(table.getByRole("row", { name: /^16 2 – – 1 .*8 1 done 1 unknown/ })).toBeVisible();
  expect(table.getByRole("link", { name: "7" })).toHaveAttribute("href", "/trials/7");
});

it("shows the Pareto front, hyperparameters short with the exact value as tooltip", async () => {
  const hparams = { opt: "adam", lr: 0.0004474942081187 };
  const front = [{ trialId: 8, stepsCompleted: 16, metrics: [1, 0.5], hparams }];
  show({
    name: "random",
    unit: "batches",
    front: front as never,
    objectives: [...objectives, { metric: "accuracy", smallerIsBetter: false }],
  });
  const table = within(await screen.findByRole("group", { name: "Pareto front" }));
  expect(table.getByRole("row", { name: /^8 16 1 0.5 lr .*, opt adam$/ })).toBeVisible();
  expect(table.getByTitle("0.0004474942081187")).toHaveTextContent("4.475e-4");
  expect(table.getByRole("columnheader", { name: "accuracy higher is better" })).toBeVisible();
});
