import { useMemo } from "react";
import { Link } from "react-router";
import { readMetricCsv } from "@/api/metricCsv";
import { buildSeries } from "@/api/trialPoints";
import type { Metric } from "@/api/trialQueries";
import type { Message } from "@/api/types";
import { formatNumber, seconds } from "@/charts/format";
import { LineChart } from "@/charts/LineChart";
import { areTexts, type XAxis } from "@/charts/points";
import { Swatch } from "@/charts/Swatch";
import { AxisChoice, haveEpochs, useAxis } from "../ChartView/AxisChoice";
import { useChartView } from "../ChartView/useChartView";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { lazyPart } from "../LazyPart/lazyPart";
import { MetricValues } from "../MetricValues/MetricValues";
import { LogPolicy } from "../State/LogPolicy";
import { State } from "../State/State";
import { paths } from "@/paths";
import styles from "./Comparison.module.css";
import { HyperparameterTable } from "./HyperparameterTable";
import { isTerminal } from "@/api/states";
import { useCurves, useLiveUpdates, useNames, useTrials } from "./useComparison";

// Loaded on demand: it brings the diff library.
const ExperimentDiff = lazyPart(() =>
  import("./ExperimentDiff").then((part) => part.ExperimentDiff),
);

/** Compares trials: curves, hyperparameters, configurations and code. */
export function Comparison({ ids }: { ids: readonly number[] }) {
  const { trials, experiments, error } = useTrials(ids);
  const { data: metrics = [] } = useNames([...experiments.keys()]);
  const axis = useAxis();
  const known = [...experiments.values()].filter((experiment) => experiment !== undefined);
  const ranks = new Map(ids.map((id, rank) => [id, rank]));
  return (
    <div className={styles.parts}>
      {error && <ErrorPanel error={error} />}
      {trials.length > 0 && (
        <div className={styles.scroll} tabIndex={0} role="group" aria-label="Compared trials">
          <table>
            <thead>
              <tr>
                <th>Trial</th>
                <th>Experiment</th>
                <th>State</th>
                <th className="number">Searcher metric</th>
              </tr>
            </thead>
            <tbody>
              {trials.map((trial) => {
                const experiment = experiments.get(trial.experimentId ?? 0);
                return (
                  <tr key={trial.id}>
                    <td>
                      <Swatch rank={ranks.get(trial.id ?? 0) ?? 0} />{" "}
                      <Link to={paths.trial(trial.id ?? 0)}>{trial.id}</Link>
                    </td>
                    <td>
                      <Link to={paths.experiment(trial.experimentId ?? 0)}>
                        {trial.experimentId} {experiment?.name}
                      </Link>
                    </td>
                    <td>
                      <State state={trial.state} /> <LogPolicy name={trial.logPolicyMatched} />
                    </td>
                    <td className="number">
                      {experiment?.searcherMetric}{" "}
                      {formatNumber(trial.bestValidation ? trial.searcherMetricValue : undefined)}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {[...experiments].map(
        ([id, experiment]) =>
          experiment && !isTerminal(experiment.state) && <LiveUpdates key={id} experimentId={id} />,
      )}
      {metrics.length > 0 && <AxisChoice axis={axis} hasEpochs={haveEpochs(metrics)} />}
      <div className={styles.charts}>
        {metrics.map((metric) => (
          <Curves
            key={`${metric.group}.${metric.name}`}
            ids={ids}
            trials={trials}
            metric={metric}
            axis={axis}
          />
        ))}
      </div>
      <HyperparameterTable trials={trials} />
      {known.slice(1).map((experiment, i) => (
        <ExperimentDiff
          key={experiment.id}
          first={known[0] ?? {}}
          second={experiment}
          isOpen={i === 0}
        />
      ))}
    </div>
  );
}

/** Follows a running experiment; renders nothing. */
function LiveUpdates({ experimentId }: { experimentId: number }) {
  useLiveUpdates(experimentId);
  return null;
}

interface CurvesProps {
  ids: readonly number[];
  trials: readonly Message["Trial"][];
  metric: Metric;
  axis: XAxis;
}

function Curves({ ids, trials, metric, axis }: CurvesProps) {
  const { points, error } = useCurves(trials, metric);
  const { view, onView } = useChartView(`${metric.group}.${metric.name}`);
  const series = useMemo(
    () => buildSeries(points, metric.name, axis, (id) => ids.indexOf(id)),
    [points, metric.name, axis, ids],
  );
  if (error) return <ErrorPanel error={error} />;
  const title = `${metric.group} ${metric.name}`;
  const texts = points.filter((each) => areTexts(each.points, metric.name));
  if (texts.length > 0) return <MetricValues title={title} metric={metric.name} trials={texts} />;
  return (
    <LineChart
      title={title}
      source={`Trials ${ids.join(", ")}`}
      series={series}
      xLabel={axis}
      syncKey="compare"
      hasLegend={ids.length > 4}
      view={view}
      onView={onView}
      {...(axis === "time" && { formatX: seconds })}
      {...(axis === "epochs" && points.length > 0 && { none: "No epochs reported." })}
      readCsv={(signal) => readMetricCsv(ids, metric, signal)}
    />
  );
}
