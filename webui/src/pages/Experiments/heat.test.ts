import { describe, expect, it } from "vitest";
import { createHeat, type Directions } from "./heat";
import type { Row } from "./rows";

const experiment = (id: number, metric: string, isSmaller: boolean, value: number): Row => ({
  kind: "experiments",
  id,
  experiment: {
    id,
    searcherMetric: metric,
    bestTrialSearcherMetric: value,
    config: { searcher: { smaller_is_better: isSmaller } } as never,
  },
});
const trial = (id: number, experimentId: number, loss: number | string): Row => ({
  kind: "runs",
  id,
  run: {
    id,
    experiment: { id: experimentId, searcherMetric: "loss" },
    summaryMetrics: { validation_metrics: { loss: { last: loss } } } as never,
  },
});
const NONE: Directions = new Map();

describe("colours of the searcher metric", () => {
  it("compare only values of the same metric, and the best value is the largest share", () => {
    const rows = [
      experiment(1, "loss", true, 0.1),
      experiment(2, "loss", true, 1.5),
      experiment(3, "accuracy", false, 0.93),
      experiment(4, "accuracy", false, 0.5),
      experiment(5, "loss", true, NaN),
    ];
    const heat = createHeat("searcherMetricsVal", rows, new Map(), NONE);
    expect(rows.map((row) => heat(row)?.share)).toEqual([1, 0, 1, 0, undefined]);
    expect(rows.map((row) => heat(row)?.better).slice(0, 3)).toEqual([
      "smaller is better",
      "smaller is better",
      "larger is better",
    ]);
  });

  it("keep opposite directions of the same metric apart", () => {
    const rows = [
      experiment(1, "score", true, 1),
      experiment(2, "score", true, 2),
      experiment(3, "score", false, 9),
    ];
    const heat = createHeat("searcherMetricsVal", rows, new Map(), NONE);
    expect(rows.map((row) => heat(row)?.share)).toEqual([1, 0, 0.5]);
  });
});

describe("colours of a metric", () => {
  const rows = [trial(1, 7, 2), trial(2, 7, 4), trial(3, 7, "Infinity")];

  it("use the range of all rows, and the direction of the experiments that search by it", () => {
    const ranges = new Map([["validation.loss", [0, 8] as const]]);
    const heat = createHeat("validation.loss.last", rows, ranges, new Map([[7, true]]));
    expect(rows.map((row) => heat(row)?.share)).toEqual([0.75, 0.5, undefined]);
  });

  it("follow the values where the direction is unknown", () => {
    const heat = createHeat("validation.loss.last", rows, new Map(), NONE);
    expect(rows.slice(0, 2).map(heat)).toEqual([
      { share: 0, better: "" },
      { share: 1, better: "" },
    ]);
  });

  it("use the range of the shown rows if that of all is infinite", () => {
    const ranges = new Map([["validation.loss", [0, Infinity] as const]]);
    const heat = createHeat("validation.loss.last", rows, ranges, NONE);
    expect(rows.map((row) => heat(row)?.share)).toEqual([0, 1, undefined]);
  });
});
