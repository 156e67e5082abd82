import { useMemo } from "react";
import { readMetricCsv, readThroughputCsv } from "@/api/metricCsv";
import type { Message } from "@/api/types";
import { LineChart } from "@/charts/LineChart";
import {
  toColumns,
  sortByAxis,
  toAxisPositions,
  findPositions,
  computeThroughput,
  withGaps,
  X_AXES,
  type Point,
  type XAxis,
} from "@/charts/points";
import type { Series } from "@/charts/series";
import { AxisChoice, useAxis } from "@/components/ChartView/AxisChoice";
import { useChartView } from "@/components/ChartView/useChartView";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { seconds } from "@/charts/format";
import styles from "./Trial.module.css";
import { selectMetrics, getUnit } from "./system";
import type { Metric } from "@/api/trialQueries";
import { useCheckpoints, useMetricNames, usePoints } from "./useTrial";

type Trial = Message["Trial"];

/** The trial's metrics, one chart each, by group: training, validation, then custom groups. */
export function Metrics({ trial }: { trial: Trial }) {
  return <Charts trial={trial} isSystem={false} />;
}

/** System metrics and the training throughput. */
export function System({ trial }: { trial: Trial }) {
  return <Charts trial={trial} isSystem />;
}

interface Props {
  trial: Trial;
  isSystem: boolean;
}

const ONLY_TIME: readonly XAxis[] = ["time"];

function Charts({ trial, isSystem }: Props) {
  const id = trial.id ?? 0;
  const { data: names, error } = useMetricNames(trial.experimentId ?? 0);
  const { data: checkpoints = [] } = useCheckpoints(id);
  // System metrics count reports, not batches.
  const axis = useAxis(isSystem ? ONLY_TIME : X_AXES);
  if (error) return <ErrorPanel error={error} />;
  if (!names) return null;
  const metrics = selectMetrics(names, isSystem);
  const training = isSystem ? names.find(({ group }) => group === "training") : undefined;
  if (metrics.length === 0 && !training) {
    return (
      <EmptyState {...(!isSystem && { command: `det trial logs -f ${id}` })}>
        {isSystem
          ? "No system metrics reported. Call core.profiler.on() in the training script to collect them."
          : "No metrics reported yet."}
      </EmptyState>
    );
  }
  const groups = [...new Set(metrics.map((metric) => metric.group))].sort(
    (a, b) => getGroupOrder(a) - getGroupOrder(b) || a.localeCompare(b),
  );
  const lengths = checkpoints
    .map((checkpoint) =>
      Number((checkpoint.metadata as { steps_completed?: number } | undefined)?.steps_completed),
    )
    .filter(Number.isFinite);
  return (
    <div className={styles.stack}>
      {!isSystem && <AxisChoice axis={axis} />}
      {training && (
        <section aria-labelledby="group-throughput">
          <h2 id="group-throughput">Throughput</h2>
          <div className={styles.charts}>
            <MetricChart
              trial={trial}
              metric={training}
              axis={axis}
              checkpoints={lengths}
              isThroughput
            />
          </div>
        </section>
      )}
      {groups.map((group) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{group}</h2>
          <div className={styles.charts}>
            {metrics
              .filter((metric) => metric.group === group)
              .map((metric) => (
                <MetricChart
                  key={metric.name}
                  trial={trial}
                  metric={metric}
                  axis={axis}
                  checkpoints={isSystem ? [] : lengths}
                />
              ))}
          </div>
        </section>
      ))}
    </div>
  );
}

const getGroupOrder = (group: string) =>
  group === "training" ? 0 : group === "validation" ? 1 : 2;

interface ChartProps {
  trial: Trial;
  metric: Metric;
  axis: XAxis;
  /** The numbers of batches at which checkpoints were saved. */
  checkpoints: readonly number[];
  /** Draws the rate of reports instead of the values. */
  isThroughput?: boolean;
}

// The start times of later attempts in milliseconds, as a string that is stable across renders.
const getRestarts = (trial: Trial) =>
  (trial.runs ?? [])
    .slice(1)
    .map(({ startTime }) => Date.parse(startTime ?? ""))
    .join();

const parseNumbers = (text: string) => (text === "" ? [] : text.split(",").map(Number));

function MetricChart({ trial, metric, axis, checkpoints, isThroughput = false }: ChartProps) {
  const { data: points, error } = usePoints(trial.id ?? 0, trial.experimentId ?? 0, metric);
  const lengths = checkpoints.join();
  const starts = getRestarts(trial);
  const title = isThroughput ? "batches / s" : `${metric.name}${getUnit(metric)}`;
  const chart = isThroughput ? "throughput" : `${metric.group}.${metric.name}`;
  const { view, onView } = useChartView(chart);
  const series = useMemo(
    () =>
      buildSeries(
        points ?? [],
        metric.name,
        axis,
        parseNumbers(lengths),
        parseNumbers(starts),
        isThroughput,
      ),
    [points, metric.name, axis, lengths, starts, isThroughput],
  );
  const readCsv = (signal: AbortSignal) =>
    isThroughput
      ? readThroughputCsv(trial.id ?? 0, metric, parseNumbers(starts), signal)
      : readMetricCsv([trial.id ?? 0], metric, signal);
  if (error) return <ErrorPanel error={error} />;
  return (
    <LineChart
      title={title}
      series={series}
      xLabel={axis}
      syncKey="trial"
      view={view}
      onView={onView}
      readCsv={readCsv}
      {...(axis === "epochs" && points?.length && { none: "No epochs reported." })}
      {...(axis === "time" && { formatX: seconds })}
    />
  );
}

function buildSeries(
  points: readonly Point[],
  name: string,
  axis: XAxis,
  checkpoints: readonly number[],
  starts: readonly number[],
  isThroughput: boolean,
): Series[] {
  const ordered = sortByAxis(points, axis);
  const positions = findPositions(ordered, starts, axis);
  const breaks = positions.map(({ index }) => index);
  const columns = isThroughput
    ? computeThroughput(ordered, axis, breaks)
    : toColumns(ordered, name, axis);
  if (columns.x.length === 0) return [];
  const drawn = withGaps(columns, breaks);
  const restarts = positions.map(({ at }) => at);
  const marks = toAxisPositions(ordered, checkpoints, axis);
  return [{ id: name, label: name, rank: 0, ...drawn, checkpoints: marks, restarts }];
}
