import { useMemo, type ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import type { Experiment } from "@/api/types";
import { formatBytes, numberOf } from "@/charts/format";
import { duration } from "@/format";
import { LineChart } from "@/charts/LineChart";
import type { Series } from "@/charts/series";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Facts } from "@/components/Page/Page";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { coloured, firstMetric, MOST_CURVES } from "./curves";
import styles from "./Experiment.module.css";
import { MetricChoice } from "./MetricChoice";
import { useCurves, useMetricNames } from "./useExperiment";

const NONE: readonly Series[] = [];

/** The learning curves of all trials, and what the experiment is. */
export function Overview({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const [params] = useSearchParams();
  const { data: metrics = [], isLoading } = useMetricNames(id);
  const chosen = params.get("metric");
  const metric =
    metrics.find((m) => `${m.group}.${m.name}` === chosen) ??
    firstMetric(metrics, experiment.searcherMetric);
  const { data: curves = NONE, error } = useCurves(id, metric);
  const trialIds = (experiment.trialIds ?? []).join();
  const series = useMemo(
    () => coloured(curves, trialIds.split(",").map(Number)),
    [curves, trialIds],
  );
  const isSearched = metric?.group === "validation" && metric.name === experiment.searcherMetric;
  return (
    <div className={styles.stack}>
      {error && <ErrorPanel error={error} />}
      {metric ? (
        <>
          <MetricChoice metrics={metrics} metric={metric} />
          {(experiment.numTrials ?? 0) > MOST_CURVES && (
            <p>
              The {MOST_CURVES} best of {experiment.numTrials} trials are drawn.
            </p>
          )}
          <LineChart
            title={`${metric.group} ${metric.name}`}
            series={series}
            xLabel="batches"
            height={360}
            {...(isSearched &&
              experiment.bestTrialSearcherMetric !== undefined && {
                best: numberOf(experiment.bestTrialSearcherMetric),
              })}
          />
        </>
      ) : (
        !isLoading && (
          <EmptyState command={`det experiment logs -f ${id}`}>
            No trial has reported a metric yet.
          </EmptyState>
        )
      )}
      <Facts facts={factsOf(experiment)} />
    </div>
  );
}

const forkedFrom = (id: number): [string, ReactNode] => [
  "Forked from",
  <Link key="fork" to={paths.experiment(id)}>
    {id}
  </Link>,
];

function factsOf(e: Experiment): [string, ReactNode][] {
  return [
    ["Description", e.description],
    ["Labels", e.labels?.join(", ")],
    ["Started", <Time key="start" at={e.startTime} />],
    ["Took", duration(e.duration ?? 0)],
    ["Owner", e.displayName || e.username],
    ["Project", `${e.workspaceName ?? ""} / ${e.projectName ?? ""}`],
    ["Searcher", `${e.searcherType ?? ""} on ${e.searcherMetric ?? ""}`],
    ["Resource pool", e.resourcePool],
    ["Checkpoints", `${e.checkpointCount ?? 0}, ${formatBytes(Number(e.checkpointSize ?? 0))}`],
    ...(e.forkedFrom ? [forkedFrom(e.forkedFrom)] : []),
  ];
}
