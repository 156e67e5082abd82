import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { proposeConfig, rangeAround } from "./initialConfig";

const config = `name: bert
# as in the paper
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: 600}
hyperparameters: {lr: 0.003, net: {depth: 4}, act: relu}
`;
const hparams = { lr: 0.003, net: { depth: 4 }, act: "relu" };
const origin = { trialId: 7, hparams, length: 500 };
const read = (text: string) => parse(text) as Record<string, Record<string, unknown>>;

describe("initial configuration", () => {
  it("is unchanged for a fork", () => {
    expect(proposeConfig(config, "fork", origin)).toBe(config);
  });

  it("has ranges around fixed values for a search, and keeps comments", () => {
    const text = proposeConfig(config, "search", origin);
    expect(text).toContain("# as in the paper");
    expect(read(text)).toMatchObject({
      name: "bert search",
      searcher: { name: "adaptive_asha", metric: "loss", max_length: 600, max_trials: 16 },
      hyperparameters: {
        lr: { type: "log", base: 10, minval: -3.523, maxval: -1.523 },
        net: { depth: { type: "int", minval: 2, maxval: 8 } },
        act: "relu",
      },
    });
  });

  it("narrows searched ranges and keeps fixed values", () => {
    const searched = config
      .replace("lr: 0.003", "lr: {type: log, base: 10, minval: -4, maxval: -1}")
      .replace(", max_length: 600", "");
    const { searcher, hyperparameters } = read(proposeConfig(searched, "search", origin));
    expect(searcher).toMatchObject({ max_length: { batches: 500 } });
    expect(hyperparameters).toMatchObject({
      lr: { minval: -3.023, maxval: -2.023 },
      net: { depth: 4 },
    });
  });

  it("continues from a trial's checkpoint with its hyperparameters", () => {
    const random = config.replace("name: single", "name: random, max_trials: 9");
    const { searcher, hyperparameters } = read(proposeConfig(random, "continue", origin));
    const same = { metric: "loss", max_length: 600 };
    expect(searcher).toEqual({ ...same, name: "single", source_trial_id: 7 });
    expect(hyperparameters).toEqual(hparams);
  });

  it("proposes no range for strings", () => {
    expect(rangeAround("relu")).toBe("relu");
    expect(rangeAround(0)).toBe(0);
    expect(rangeAround(-2)).toEqual({ type: "double", minval: -4, maxval: -1 });
    expect(rangeAround(true)).toEqual({ type: "categorical", vals: [true, false] });
  });
});
