import { useMemo, type ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import type { Experiment } from "@/api/types";
import { readMetricCsv } from "@/api/metricCsv";
import { buildSeries, type TrialPoints } from "@/api/trialPoints";
import type { Metric } from "@/api/trialQueries";
import { formatBytes, toNumber, seconds } from "@/charts/format";
import { formatDuration } from "@/format";
import { LineChart } from "@/charts/LineChart";
import type { XAxis } from "@/charts/points";
import type { Series } from "@/charts/series";
import { AxisChoice, useAxis } from "@/components/ChartView/AxisChoice";
import { useChartView } from "@/components/ChartView/useChartView";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Facts } from "@/components/Page/Page";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import { assignRanks, firstMetric, MAX_CURVES } from "./curves";
import styles from "./Experiment.module.css";
import { MetricChoice } from "./MetricChoice";
import { useCurves, useMetricNames, useTimedCurves } from "./useExperiment";

/** The learning curves of all trials and the experiment's properties. */
export function Overview({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const [params] = useSearchParams();
  const { data: metrics = [], isLoading } = useMetricNames(id);
  const chosen = params.get("metric");
  const metric =
    metrics.find((m) => `${m.group}.${m.name}` === chosen) ??
    firstMetric(metrics, experiment.searcherMetric);
  return (
    <div className={styles.stack}>
      {metric ? (
        <Curves experiment={experiment} metrics={metrics} metric={metric} />
      ) : (
        !isLoading && (
          <EmptyState command={`det experiment logs -f ${id}`}>No metrics reported yet.</EmptyState>
        )
      )}
      <Facts facts={getFacts(experiment)} />
    </div>
  );
}

interface CurvesProps {
  experiment: Experiment;
  metrics: readonly Metric[];
  metric: Metric;
}

function Curves({ experiment, metrics, metric }: CurvesProps) {
  const axis = useAxis();
  const { view, onView } = useChartView(`${metric.group}.${metric.name}`);
  const { series, hasPoints, error } = useSeries(experiment, metric, axis);
  const isSearched = metric.group === "validation" && metric.name === experiment.searcherMetric;
  const trials = series.map((each) => Number(each.id));
  return (
    <>
      {error && <ErrorPanel error={error} />}
      <div className={styles.choices}>
        <MetricChoice metrics={metrics} metric={metric} />
        <AxisChoice axis={axis} />
      </div>
      {(experiment.numTrials ?? 0) > MAX_CURVES && (
        <p>
          Showing the {MAX_CURVES} best of {formatCount(experiment.numTrials ?? 0, "trial")}.
        </p>
      )}
      <LineChart
        title={`${metric.group} ${metric.name}`}
        series={series}
        xLabel={axis}
        height={360}
        view={view}
        onView={onView}
        {...(axis === "time" && { formatX: seconds })}
        {...(axis === "epochs" && hasPoints && { none: "No epochs reported." })}
        {...(isSearched &&
          experiment.bestTrialSearcherMetric !== undefined && {
            best: toNumber(experiment.bestTrialSearcherMetric),
          })}
        readCsv={(signal) => readMetricCsv(trials, metric, signal)}
      />
    </>
  );
}

const NONE: readonly Series[] = [];
const NO_POINTS: readonly TrialPoints[] = [];

/** The trials' curves over the axis, in stable colours. */
function useSeries(experiment: Experiment, metric: Metric, axis: XAxis) {
  const isPlain = axis === "batches";
  const plain = useCurves(experiment.id ?? 0, metric, isPlain);
  const timed = useTimedCurves(experiment, metric, !isPlain);
  const trialIds = (experiment.trialIds ?? []).join();
  const { data: curves = NONE } = plain;
  const { data: points = NO_POINTS } = timed;
  const series = useMemo(() => {
    const all = isPlain ? curves : buildSeries(points, metric.name, axis, (_, index) => index);
    return assignRanks(all, trialIds.split(",").map(Number));
  }, [isPlain, curves, points, metric.name, axis, trialIds]);
  const hasPoints = points.length > 0;
  return { series, hasPoints, error: isPlain ? plain.error : timed.error };
}

const forkedFrom = (id: number): [string, ReactNode] => [
  "Forked from",
  <Link key="fork" to={paths.experiment(id)}>
    {id}
  </Link>,
];

function getFacts(e: Experiment): [string, ReactNode][] {
  return [
    ["Description", e.description],
    ["Labels", e.labels?.join(", ")],
    ["Started", <Time key="start" at={e.startTime} />],
    ["Duration", formatDuration(e.duration ?? 0)],
    ["Owner", e.displayName || e.username],
    ["Project", `${e.workspaceName ?? ""} / ${e.projectName ?? ""}`],
    ["Searcher", `${e.searcherType ?? ""} on ${e.searcherMetric ?? ""}`],
    ...(e.unmanaged ? [] : [["Resource pool", e.resourcePool] as [string, ReactNode]]),
    ["Checkpoints", `${e.checkpointCount ?? 0}, ${formatBytes(Number(e.checkpointSize ?? 0))}`],
    ...(e.forkedFrom ? [forkedFrom(e.forkedFrom)] : []),
  ];
}
