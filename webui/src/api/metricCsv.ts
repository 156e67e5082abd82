import { formatCsv } from "@/charts/export";
import { streamMessages, buildQuery } from "./messages";
import type { Metric } from "./trialQueries";
import type { Message } from "./types";

type Report = NonNullable<Message["GetMetricsResponse"]["metrics"]>[number];

// More trials would exceed the length of a URL that servers accept.
const MAX_PER_CALL = 100; // trials

/** Reads all reports of a metric as CSV, one line per report, without downsampling. */
export async function readMetricCsv(
  trials: readonly number[],
  { group, name }: Metric,
  signal: AbortSignal,
): Promise<Blob> {
  const parts = [formatCsv([["trial", "batches", "epoch", "time", name]])];
  for (let i = 0; i < trials.length; i += MAX_PER_CALL) {
    const query = buildQuery({ trialIds: trials.slice(i, i + MAX_PER_CALL), group });
    const path = `/api/v1/trials/metrics/trial_metrics?${query}`;
    for await (const { metrics = [] } of streamMessages<Message["GetMetricsResponse"]>(
      path,
      signal,
    )) {
      parts.push(formatCsv(metrics.flatMap((report) => toCsvLine(report, name))));
    }
  }
  return new Blob(parts, { type: "text/csv" });
}

/**
 * Reads the throughput between consecutive reports of a metric as CSV. Intervals that contain one of `starts`
 * (milliseconds), the start of an attempt, are left out.
 */
export async function readThroughputCsv(
  trial: number,
  { group, name }: Metric,
  starts: readonly number[],
  signal: AbortSignal,
): Promise<Blob> {
  const parts = [formatCsv([["trial", "batches", "time", "batches / s"]])];
  const query = buildQuery({ trialIds: [trial], group });
  const path = `/api/v1/trials/metrics/trial_metrics?${query}`;
  let before: Report | undefined;
  for await (const { metrics = [] } of streamMessages<Message["GetMetricsResponse"]>(
    path,
    signal,
  )) {
    const lines: Cell[][] = [];
    for (const report of metrics.filter((each) => name in valuesOf(each))) {
      const speed = before && speedBetween(before, report, starts);
      const { totalBatches = 0, endTime = "" } = report;
      if (speed !== undefined) lines.push([trial, totalBatches, endTime, speed]);
      before = report;
    }
    parts.push(formatCsv(lines));
  }
  return new Blob(parts, { type: "text/csv" });
}

function speedBetween(before: Report, now: Report, starts: readonly number[]) {
  const from = Date.parse(before.endTime ?? "");
  const to = Date.parse(now.endTime ?? "");
  const batches = (now.totalBatches ?? 0) - (before.totalBatches ?? 0);
  const isAcross = starts.some((start) => from < start && start <= to);
  return !isAcross && batches > 0 && to > from ? (batches * 1000) / (to - from) : undefined;
}

type Cell = string | number;

/** The metrics of a report by name, without those of single batches. */
function valuesOf({ metrics = {} }: Report) {
  const { validation_metrics: validation, avg_metrics: other } = metrics as Record<string, unknown>;
  return (validation ?? other ?? {}) as Record<string, Cell | undefined>;
}

function toCsvLine(report: Report, name: string) {
  const { trialId = 0, totalBatches = 0, endTime = "" } = report;
  const values = valuesOf(report);
  const value = values[name];
  const epoch = values["epoch"] ?? values["epochs"] ?? "";
  return value === undefined ? [] : [[trialId, totalBatches, epoch, endTime, value]];
}
