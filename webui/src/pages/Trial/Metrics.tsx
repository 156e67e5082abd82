import { useMemo } from "react";
import { readMetricCsv, readThroughputCsv } from "@/api/metricCsv";
import type { Experiment, Message } from "@/api/types";
import { LineChart } from "@/charts/LineChart";
import {
  areTexts,
  toColumns,
  sortByAxis,
  toAxisPositions,
  findPositions,
  parseReported,
  computeThroughput,
  withGaps,
  X_AXES,
  type Point,
  type XAxis,
} from "@/charts/points";
import type { Series } from "@/charts/series";
import { AxisChoice, haveEpochs, useAxis } from "@/components/ChartView/AxisChoice";
import { useChartView } from "@/components/ChartView/useChartView";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { MetricValues } from "@/components/MetricValues/MetricValues";
import { SearcherNotice } from "@/components/SearcherNotice/SearcherNotice";
import { seconds } from "@/charts/format";
import styles from "./Trial.module.css";
import { selectMetrics, getUnit } from "./system";
import type { Metric } from "@/api/trialQueries";
import { useCheckpoints, useMetricNames, usePoints } from "./useTrial";

type Trial = Message["Trial"];

/** The trial's metrics, one chart each, by group: training, validation, then custom groups. */
export function Metrics({ trial, experiment }: Pick<Props, "trial" | "experiment">) {
  return <Charts trial={trial} experiment={experiment} isSystem={false} />;
}

/** System metrics and the training throughput. */
export function System({ trial, experiment }: Pick<Props, "trial" | "experiment">) {
  return <Charts trial={trial} experiment={experiment} isSystem />;
}

interface Props {
  trial: Trial;
  /** Undefined until it is known. */
  experiment?: Experiment | undefined;
  isSystem: boolean;
}

const ONLY_TIME: readonly XAxis[] = ["time"];

function Charts({ trial, experiment, isSystem }: Props) {
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
        {isSystem ? getProfilerHint(experiment) : "No metrics reported yet."}
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
      {!isSystem && experiment && (
        <Notice trial={trial} searcherMetric={experiment.searcherMetric ?? ""} names={names} />
      )}
      {!isSystem && <AxisChoice axis={axis} hasEpochs={haveEpochs(names)} />}
      {isSystem && metrics.length === 0 && (
        <p className={styles.reason}>{getProfilerHint(experiment)}</p>
      )}
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

/** Why there are no system metrics. */
function getProfilerHint(experiment: Experiment | undefined): string {
  const { profiling } = (experiment?.config ?? {}) as { profiling?: { enabled?: boolean } };
  const advice = "Call core.profiler.on() in the training script to collect them.";
  return profiling?.enabled
    ? `No system metrics reported: profiling.enabled is ignored for scripts. ${advice}`
    : `No system metrics reported. ${advice}`;
}

interface NoticeProps {
  trial: Trial;
  searcherMetric: string;
  names: readonly Metric[];
}

function Notice({ trial, searcherMetric, names }: NoticeProps) {
  const metric = { group: "validation", name: searcherMetric };
  const isReported = names.some(
    ({ group, name }) => group === metric.group && name === metric.name,
  );
  const { id = 0, experimentId = 0 } = trial;
  const { data: points = NO_POINTS } = usePoints(id, experimentId, metric, isReported);
  const series = [
    { id: String(id), label: "", rank: 0, ...toColumns(points, searcherMetric, "batches") },
  ];
  return <SearcherNotice metric={searcherMetric} names={names} series={series} />;
}

const NO_POINTS: readonly Point[] = [];

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

/** Notes values that are NaN or infinite but were left out when the master reduced the points. */
function getInvalidNote({ summaryMetrics }: Trial, { group, name }: Metric) {
  const member =
    group === "training" ? "avg_metrics" : group === "validation" ? "validation_metrics" : group;
  const groups = summaryMetrics as Record<string, Record<string, { sum?: unknown }>> | undefined;
  const sum = parseReported(groups?.[member]?.[name]?.sum);
  return sum === undefined || Number.isFinite(sum)
    ? {}
    : { note: "NaN or infinite in some reports; the CSV has all" };
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
  if (!isThroughput && points && areTexts(points, metric.name))
    return (
      <MetricValues
        title={title}
        metric={metric.name}
        trials={[{ trialId: trial.id ?? 0, points }]}
      />
    );
  return (
    <LineChart
      title={title}
      source={`Trial ${trial.id ?? 0} of experiment ${trial.experimentId ?? 0}`}
      series={series}
      xLabel={axis}
      syncKey="trial"
      view={view}
      onView={onView}
      readCsv={readCsv}
      {...(!isThroughput && !series[0]?.invalid && getInvalidNote(trial, metric))}
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
  const drawn = { ...columns, ...withGaps(columns, breaks) };
  const restarts = positions.map(({ at }) => at);
  const marks = toAxisPositions(ordered, checkpoints, axis);
  return [{ id: name, label: name, rank: 0, ...drawn, checkpoints: marks, restarts }];
}
