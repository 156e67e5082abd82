import { render, screen } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { describe, expect, it } from "vitest";
import { FilterError } from "@/components/table/filter";
import experiments from "@goldens/experiments.json";
import runs from "@goldens/runs.json";
import { renderCell } from "./cells";
import { getValue, type Row } from "./rows";
import { createDefaultView, toSearch } from "./search";

// Responses of a real master.
const run = runs.answer.runs[0] as never;
const found = experiments.answer.experiments[0] as unknown as {
  experiment: never;
  bestTrial: never;
};
const row: Row = { kind: "experiments", id: 1, ...found, run };

describe("row", () => {
  it.each([
    ["name", "mnist-random"],
    ["tags", ["vision", "baseline"]],
    ["user", "admin"],
    ["checkpointSize", 0],
    ["forkedFrom", undefined],
    ["searcherMetricsVal", 0.032666637908522533],
    ["hp.optimizer", "adamw"],
    ["hp.nowhere", undefined],
    ["validation.loss.min", 0.032666637908522533],
    ["system.cpu_util.max", 87.48533516156348],
    ["metadata.data.version", "v2"],
  ])("has the %s of its experiment", (column, value) => {
    expect(getValue(row, column)).toEqual(value);
  });

  it("has no progress if its experiment failed, and no duration while it waits", () => {
    const of = (state: string): Row => ({
      kind: "experiments",
      id: 1,
      experiment: { state, progress: 1, duration: 7 } as never,
    });
    const values = (state: string) =>
      ["progress", "duration"].map((column) => getValue(of(state), column));
    expect(values("STATE_COMPLETED")).toEqual([1, 7]);
    expect(values("STATE_ERROR")).toEqual([undefined, 7]);
    expect(values("STATE_QUEUED")).toEqual([1, undefined]);
  });

  it("shows numbers with four digits and every digit in the tooltip", () => {
    const run = {
      hyperparameters: { lr: 0.0004474942081187, wd: 0.01, layers: 123456 },
      searcherMetricValue: "Infinity",
      summaryMetrics: { validation_metrics: { loss: { last: 4.8123456e-13 } } },
      metadata: { score: 0.123456789 },
    };
    const chosen: Row = { kind: "runs", id: 1, run: run as never };
    const show = (column: string) =>
      render(<div>{renderCell(chosen, column, undefined, false).content}</div>).container;
    const read = (column: string) => {
      const cell = show(column).firstElementChild;
      return [cell?.textContent, cell?.querySelector("span")?.title];
    };
    expect(read("hp.lr")).toEqual(["4.475e-4", "0.0004474942081187"]);
    expect(read("hp.wd")).toEqual(["0.01", undefined]);
    expect(read("hp.layers")).toEqual(["123456", undefined]);
    expect(read("validation.loss.last")).toEqual(["4.812e-13", "4.8123456e-13"]);
    expect(read("metadata.score")).toEqual(["0.1235", "0.123456789"]);
    expect(read("searcherMetricsVal")).toEqual(["∞", undefined]);
  });

  it("has the values of its run and of the run's experiment", () => {
    const own: Row = { kind: "runs", id: 11, run };
    expect(
      ["id", "experimentId", "experimentName", "state"].map((name) => getValue(own, name)),
    ).toEqual([11, 1, "mnist-random", "STATE_COMPLETED"]);
  });
});

it.each([
  { kind: "experiments", id: 1, experiment: { id: 1, name: "laptop", unmanaged: true } },
  { kind: "runs", id: 1, run: { experiment: { id: 1, name: "laptop", unmanaged: true } } },
] as const)("marks the name of unmanaged $kind", (unmanaged) => {
  const column = unmanaged.kind === "runs" ? "experimentName" : "name";
  const { content } = renderCell(unmanaged, column, undefined, false);
  render(<MemoryRouter>{content}</MemoryRouter>);
  expect(screen.getByRole("link", { name: "laptop" })).toBeInTheDocument();
  expect(screen.getByText("unmanaged").title).toMatch(/^Runs outside of the cluster/);
});

it("converts the typed filter to a search, or reports its error", () => {
  const view = { ...createDefaultView("experiments"), filter: "lr < 1", text: "mnist" };
  const columns = [{ column: "hp.lr", type: "COLUMN_TYPE_NUMBER" as const, displayName: "" }];
  const search = toSearch(view, "experiments", undefined, columns);
  if (search instanceof FilterError) throw search;
  expect(search.sort).toBe("id=desc");
  expect(JSON.parse(search.filter)).toMatchObject({
    filterGroup: {
      conjunction: "and",
      children: [{ children: [{ columnName: "hp.lr" }] }, { conjunction: "or" }],
    },
  });
  expect(toSearch({ ...view, filter: "lr <" }, "experiments", undefined, columns)).toBeInstanceOf(
    FilterError,
  );
});
