import { useEffect, useMemo, useState, type ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import type { Experiment } from "@/api/types";
import { isTerminal } from "@/api/states";
import { readMetricCsv } from "@/api/metricCsv";
import { buildSeries, type TrialPoints } from "@/api/trialPoints";
import type { Metric } from "@/api/trialQueries";
import { formatBytes, toNumber, seconds } from "@/charts/format";
import { LineChart } from "@/charts/LineChart";
import { areTexts, type XAxis } from "@/charts/points";
import type { Series } from "@/charts/series";
import { AxisChoice, haveEpochs, useAxis } from "@/components/ChartView/AxisChoice";
import { useChartView } from "@/components/ChartView/useChartView";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { MetricValues } from "@/components/MetricValues/MetricValues";
import { Facts } from "@/components/Page/Page";
import { SearcherNotice } from "@/components/SearcherNotice/SearcherNotice";
import { Duration, Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import { assignRanks, firstMetric, MAX_CURVES } from "./curves";
import styles from "./Experiment.module.css";
import { MetricChoice } from "./MetricChoice";
import { useCurves, useFirstRun, useMetricNames, useTimedCurves } from "./useExperiment";

/** The learning curves of all trials and the experiment's properties. */
export function Overview({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const [params] = useSearchParams();
  const { data: metrics = [], isLoading } = useMetricNames(id);
  const firstRun = useFirstRun(experiment);
  // A metric that is reported later does not replace the one that is shown.
  const [shown, setShown] = useState<string>();
  const find = (key: string | null | undefined) => metrics.find((m) => keyOf(m) === key);
  const preferred = firstMetric(metrics, experiment.searcherMetric);
  const metric = find(params.get("metric")) ?? find(shown) ?? preferred;
  const key = metric && keyOf(metric);
  useEffect(() => setShown((now) => now ?? key), [key]);
  return (
    <div className={styles.stack}>
      <Notice experiment={experiment} metrics={metrics} />
      {metric ? (
        <Curves experiment={experiment} metrics={metrics} metric={metric} />
      ) : (
        !isLoading && (
          <EmptyState command={`det experiment logs -f ${id}`}>No metrics reported yet.</EmptyState>
        )
      )}
      <Facts facts={getFacts(experiment, firstRun)} />
    </div>
  );
}

const keyOf = ({ group, name }: Metric) => `${group}.${name}`;

const NO_CURVES: readonly Series[] = [];

function Notice({ experiment, metrics }: { experiment: Experiment; metrics: readonly Metric[] }) {
  const name = experiment.searcherMetric ?? "";
  const metric = metrics.find((m) => m.group === "validation" && m.name === name);
  const { data = NO_CURVES } = useCurves(experiment.id ?? 0, metric, true);
  return <SearcherNotice metric={name} names={metrics} series={metric ? data : NO_CURVES} />;
}

interface CurvesProps {
  experiment: Experiment;
  metrics: readonly Metric[];
  metric: Metric;
}

function Curves({ experiment, metrics, metric }: CurvesProps) {
  const axis = useAxis();
  const { view, onView } = useChartView(keyOf(metric));
  const { series, points, error } = useSeries(experiment, metric, axis);
  const title = `${metric.group} ${metric.name}`;
  const texts = points.filter((each) => areTexts(each.points, metric.name));
  const isSearched = metric.group === "validation" && metric.name === experiment.searcherMetric;
  const trials = series.map((each) => Number(each.id));
  return (
    <>
      {error && <ErrorPanel error={error} />}
      <div className={styles.choices}>
        <MetricChoice metrics={metrics} metric={metric} />
        <AxisChoice axis={axis} hasEpochs={haveEpochs(metrics)} />
      </div>
      {(experiment.numTrials ?? 0) > MAX_CURVES && (
        <p>
          Showing the {MAX_CURVES} best of {formatCount(experiment.numTrials ?? 0, "trial")}.
        </p>
      )}
      {texts.length > 0 ? (
        <MetricValues title={title} metric={metric.name} trials={texts} />
      ) : (
        <LineChart
          title={title}
          source={`Experiment ${experiment.id ?? 0} ${experiment.name ?? ""}`}
          series={series}
          xLabel={axis}
          height={360}
          view={view}
          onView={onView}
          {...(axis === "time" && { formatX: seconds })}
          {...(axis === "epochs" && points.length > 0 && { none: "No epochs reported." })}
          {...(isSearched &&
            experiment.bestTrialSearcherMetric !== undefined && {
              best: toNumber(experiment.bestTrialSearcherMetric),
            })}
          readCsv={(signal) => readMetricCsv(trials, metric, signal)}
        />
      )}
    </>
  );
}

const NONE: readonly Series[] = [];
const NO_POINTS: readonly TrialPoints[] = [];

/**
 * The trials' curves over the axis, in stable colours. The reports are read for axes other than batches, and to find
 * out what a curve without any number is: in column format texts are NaN, too.
 */
function useSeries(experiment: Experiment, metric: Metric, axis: XAxis) {
  const isPlain = axis === "batches";
  const plain = useCurves(experiment.id ?? 0, metric, isPlain);
  const isBlank =
    plain.data !== undefined &&
    plain.data.length > 0 &&
    plain.data.every(({ y }) => Array.from(y).every(Number.isNaN));
  const timed = useTimedCurves(experiment, metric, !isPlain || isBlank);
  const trialIds = (experiment.trialIds ?? []).join();
  const { data: curves = NONE } = plain;
  const { data = NO_POINTS } = timed;
  const points = isPlain && !isBlank ? NO_POINTS : data;
  const series = useMemo(() => {
    const all = isPlain ? curves : buildSeries(points, metric.name, axis, (_, index) => index);
    return assignRanks(all, trialIds.split(",").map(Number));
  }, [isPlain, curves, points, metric.name, axis, trialIds]);
  return { series, points, error: isPlain ? plain.error : timed.error };
}

const forkedFrom = (id: number): [string, ReactNode] => [
  "Forked from",
  <Link key="fork" to={paths.experiment(id)}>
    {id}
  </Link>,
];

/** When it was submitted, how long it waited for slots, and how long it ran. */
function getTimes(e: Experiment, firstRun: string | null | undefined): [string, ReactNode][] {
  const at = <Time key="start" at={e.startTime} />;
  const ran = (from: string | undefined): [string, ReactNode] => [
    "Duration",
    <Duration key="ran" from={from} to={e.endTime} />,
  ];
  if (e.unmanaged) return [["Started", at], ran(e.startTime)];
  if (firstRun === undefined) return [["Submitted", at]];
  const waited = <Duration key="waited" from={e.startTime} to={firstRun ?? e.endTime} />;
  if (firstRun) return [["Submitted", at], ["Waited", waited], ran(firstRun)];
  return [
    ["Submitted", at],
    [isTerminal(e.state) ? "Waited" : "Waiting for", waited],
  ];
}

function getFacts(e: Experiment, firstRun: string | null | undefined): [string, ReactNode][] {
  return [
    ["Description", e.description],
    ["Labels", e.labels?.join(", ")],
    ...getTimes(e, firstRun),
    ["Owner", e.displayName || e.username],
    ["Project", `${e.workspaceName ?? ""} / ${e.projectName ?? ""}`],
    ["Searcher", `${e.searcherType ?? ""} on ${e.searcherMetric ?? ""}`],
    ...(e.unmanaged ? [] : [["Resource pool", e.resourcePool] as [string, ReactNode]]),
    ["Checkpoints", `${e.checkpointCount ?? 0}, ${formatBytes(Number(e.checkpointSize ?? 0))}`],
    ...(e.forkedFrom ? [forkedFrom(e.forkedFrom)] : []),
  ];
}
