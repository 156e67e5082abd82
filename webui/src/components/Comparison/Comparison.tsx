import { useMemo } from "react";
import { Link } from "react-router";
import { readMetricCsv } from "@/api/metricCsv";
import { seriesOf } from "@/api/trialPoints";
import type { Metric } from "@/api/trialQueries";
import type { Message } from "@/api/types";
import { formatNumber, seconds } from "@/charts/format";
import { LineChart } from "@/charts/LineChart";
import type { XAxis } from "@/charts/points";
import { Swatch } from "@/charts/Swatch";
import { AxisChoice, useAxis } from "../ChartView/AxisChoice";
import { useChartView } from "../ChartView/useChartView";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { State } from "../State/State";
import { paths } from "@/paths";
import styles from "./Comparison.module.css";
import { differencesOf } from "./differences";
import { isTerminal } from "../LogView/filters";
import { useCurves, useLive, useNames, useTrials } from "./useCompared";

/** Trials side by side: their curves, and where hyperparameters, configurations and code differ. */
export function Comparison({ ids }: { ids: readonly number[] }) {
  const { trials, experiments, error } = useTrials(ids);
  const { data: metrics = [] } = useNames([...experiments.keys()]);
  const axis = useAxis();
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
                      <State state={trial.state} />
                    </td>
                    <td className="number">
                      {experiment?.searcherMetric} {formatNumber(trial.searcherMetricValue)}
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
          experiment && !isTerminal(experiment.state) && <Live key={id} experimentId={id} />,
      )}
      {metrics.length > 0 && <AxisChoice axis={axis} />}
      <div className={styles.charts}>
        {metrics.map((metric) => (
          <Curves key={`${metric.group}.${metric.name}`} {...{ ids, trials, metric, axis }} />
        ))}
      </div>
      <Differences
        title="Hyperparameters that differ"
        heads={trials.map((trial) => `trial ${trial.id ?? 0}`)}
        objects={trials.map((trial) => trial.hparams)}
      />
      <Differences
        title="Configuration that differs"
        heads={[...experiments.keys()].map((id) => `experiment ${id}`)}
        objects={[...experiments.values()].map((experiment) => experiment?.config)}
      />
      <CodeLinks experimentIds={[...experiments.keys()]} />
    </div>
  );
}

/** Follows an experiment that goes on; there is nothing to see of that itself. */
function Live({ experimentId }: { experimentId: number }) {
  useLive(experimentId);
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
    () => seriesOf(points, metric.name, axis, (id) => ids.indexOf(id)),
    [points, metric.name, axis, ids],
  );
  if (error) return <ErrorPanel error={error} />;
  return (
    <LineChart
      title={`${metric.group} ${metric.name}`}
      series={series}
      xLabel={axis}
      syncKey="compare"
      hasLegend={ids.length > 4}
      {...{ view, onView }}
      {...(axis === "time" && { formatX: seconds })}
      {...(axis === "epochs" && points.length > 0 && { none: "No epochs were reported." })}
      readCsv={(signal) => readMetricCsv(ids, metric, signal)}
    />
  );
}

function shown(value: unknown): string {
  return value === undefined ? "–" : JSON.stringify(value);
}

interface DifferencesProps {
  title: string;
  heads: readonly string[];
  objects: readonly unknown[];
}

function Differences({ title, heads, objects }: DifferencesProps) {
  const differences = differencesOf(objects);
  if (objects.length < 2) return null;
  return (
    <section>
      <h2>{title}</h2>
      {differences.length === 0 ? (
        <p>None.</p>
      ) : (
        <div className={styles.scroll} tabIndex={0} role="group" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th>Name</th>
                {heads.map((head) => (
                  <th key={head}>{head}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {differences.map(({ path, values }) => (
                <tr key={path}>
                  <td>
                    <code>{path}</code>
                  </td>
                  {values.map((value, i) => (
                    <td key={i}>{shown(value)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function CodeLinks({ experimentIds }: { experimentIds: readonly number[] }) {
  const [first, ...others] = experimentIds;
  if (first === undefined || others.length === 0) return null;
  return (
    <section>
      <h2>Code</h2>
      {others.map((other) => (
        <p key={other}>
          <Link to={`${paths.experiment(first, "code")}?against=${other}`}>
            How the files of experiment {first} differ from those of {other}
          </Link>
        </p>
      ))}
    </section>
  );
}
