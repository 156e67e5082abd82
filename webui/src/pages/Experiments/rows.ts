import { getShownProgress } from "@/api/states";
import type { Message } from "@/api/types";

/** The kind of rows: experiments or trials, which the API calls runs. */
export type Kind = "experiments" | "runs";

/** The noun for a kind of row. */
export const getNoun = (kind: Kind) => (kind === "runs" ? "trial" : "experiment");

/** A row. An experiment's `run` is its best trial, if it was read. */
export interface Row {
  kind: Kind;
  id: number;
  experiment?: Message["Experiment"];
  bestTrial?: Message["Trial"] | undefined;
  run?: Message["FlatRun"] | undefined;
}

export type Value = string | number | boolean | string[] | undefined;

const GROUPS: Record<string, string> = {
  training: "avg_metrics",
  validation: "validation_metrics",
};

/** The value of a row in an API column; undefined if there is none. */
export function getValue(row: Row, column: string): Value {
  if (column.startsWith("hp.")) {
    return leaf(row.run?.hyperparameters ?? row.bestTrial?.hparams, column.slice("hp.".length));
  }
  if (column.startsWith("metadata."))
    return leaf(row.run?.metadata, column.slice("metadata.".length));
  const metric = /^([^.]+)\.(.+)\.(last|min|max|mean)$/.exec(column);
  if (metric) {
    const [, group = "", name = "", statistic = ""] = metric;
    const groups = row.run?.summaryMetrics as Summaries | undefined;
    return groups?.[GROUPS[group] ?? group]?.[name]?.[statistic];
  }
  return row.kind === "runs" ? getRunValue(row, column) : getExperimentValue(row, column);
}

/** The loaded rows of a window. */
export function rowsBetween(
  rowAt: (index: number) => Row | undefined,
  from: number,
  to: number,
): Row[] {
  const rows: Row[] = [];
  for (let i = from; i < to; i++) {
    const row = rowAt(i);
    if (row) rows.push(row);
  }
  return rows;
}

type Summaries = Record<string, Record<string, Record<string, number>>>;

// Follows a path of nested objects: "optimizer.lr"; names may contain dots.
function leaf(value: unknown, path: string): Value {
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  if (path in fields) return shown(fields[path]);
  for (const [name, inside] of Object.entries(fields)) {
    if (!path.startsWith(name + ".")) continue;
    const found = leaf(inside, path.slice(name.length + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

function shown(value: unknown): Value {
  if (value === null || value === undefined) return undefined;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  return JSON.stringify(value);
}

function getExperimentValue({ experiment, bestTrial }: Row, column: string): Value {
  if (!experiment) return undefined;
  switch (column) {
    case "tags":
      return experiment.labels;
    case "user":
      return experiment.displayName || experiment.username;
    case "searcherMetricsVal":
      return experiment.bestTrialSearcherMetric ?? bestTrial?.searcherMetricValue;
    case "checkpointSize":
      return Number(experiment.checkpointSize ?? 0);
    case "forkedFrom":
      return experiment.forkedFrom || undefined;
    case "duration":
      return getRunTime(experiment.state, experiment.duration);
    case "progress":
      return getShownProgress(experiment.state, experiment.progress);
    default:
      return shown((experiment as Record<string, unknown>)[column]);
  }
}

/** What waits for its slots has not run yet. */
const getRunTime = (state: string | undefined, duration: number | undefined) =>
  state === "STATE_QUEUED" ? undefined : duration;

function getRunValue({ run }: Row, column: string): Value {
  if (!run) return undefined;
  const of: Record<string, Value> = {
    tags: run.labels,
    state: run.trialState ?? run.state,
    searcherMetricsVal: run.searcherMetricValue,
    checkpointSize: Number(run.checkpointSize ?? 0),
    duration: getRunTime(run.trialState, run.duration),
    experimentId: run.experiment?.id,
    experimentName: run.experiment?.name,
    experimentDescription: run.experiment?.description,
    experimentProgress: run.experiment?.progress,
    isExpMultitrial: run.experiment?.isMultitrial,
    searcherType: run.experiment?.searcherType,
    searcherMetric: run.experiment?.searcherMetric,
    resourcePool: run.experiment?.resourcePool,
    forkedFrom: run.experiment?.forkedFrom,
  };
  return column in of ? of[column] : shown((run as Record<string, unknown>)[column]);
}
