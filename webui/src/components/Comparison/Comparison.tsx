import { useMemo } from "react";
import { Link } from "react-router";
import { formatNumber } from "@/charts/format";
import { LineChart } from "@/charts/LineChart";
import { columnsOf } from "@/charts/points";
import type { Series } from "@/charts/series";
import { Swatch } from "@/charts/Swatch";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { State } from "../State/State";
import { paths } from "@/paths";
import styles from "./Comparison.module.css";
import { differencesOf } from "./differences";
import { useCurves, useNames, useTrials } from "./useCompared";

/** Trials side by side: their curves, and where hyperparameters, configurations and code differ. */
export function Comparison({ ids }: { ids: readonly number[] }) {
  const { trials, experiments, error } = useTrials(ids);
  const { data: metrics = [] } = useNames([...experiments.keys()]);
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
      <div className={styles.charts}>
        {metrics.map((metricId) => (
          <Curves key={metricId} ids={ids} metricId={metricId} />
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

function Curves({ ids, metricId }: { ids: readonly number[]; metricId: string }) {
  const { data: trials, error } = useCurves(ids, metricId);
  const name = metricId.slice(metricId.indexOf(".") + 1);
  const series = useMemo(
    () =>
      (trials ?? []).map(({ trial, metrics }): Series => {
        const id = trial?.id ?? 0;
        const columns = columnsOf(metrics?.[0]?.data ?? [], name, "batches");
        return { id: String(id), label: `trial ${id}`, rank: ids.indexOf(id), ...columns };
      }),
    [trials, name, ids],
  );
  if (error) return <ErrorPanel error={error} />;
  return (
    <LineChart
      title={metricId.replace(".", " ")}
      series={series}
      xLabel="batches"
      syncKey="compare"
      hasLegend={ids.length > 4}
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
