import { Fragment } from "react";
import { Link } from "react-router";
import type { Experiment, Message } from "@/api/types";
import { formatNumber, formatStep } from "@/charts/format";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Icon } from "@/components/Icon/Icon";
import { ScrollBox } from "@/components/Page/ScrollBox";
import { Value } from "@/components/Value/Value";
import { paths } from "@/paths";
import styles from "./Experiment.module.css";
import { Rungs } from "./Rungs";
import { useSearch } from "./useExperiment";

/** The brackets and rungs of the search: which trials entered each rung and which were promoted. */
export function Search({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const { data, error, isLoading } = useSearch(id);
  if (error) return <ErrorPanel error={error} />;
  const search = data?.search;
  if (isLoading || !search) return null;
  const brackets = search.brackets ?? [];
  return (
    <div className={styles.stack}>
      {search.bestTrialId ? (
        <p>
          Best: {formatNumber(search.bestMetric)} by{" "}
          <Link to={paths.trial(search.bestTrialId)}>trial {search.bestTrialId}</Link> (
          <Hparams hparams={search.bestHparams} />)
        </p>
      ) : null}
      {(search.front?.length ?? 0) > 0 && <ParetoFront search={search} />}
      {brackets.length === 0 && experiment.unmanaged && (
        <EmptyState>
          The cluster runs no search for an unmanaged experiment: its program chooses the trials.
        </EmptyState>
      )}
      {brackets.length === 0 && !experiment.unmanaged && (
        <EmptyState command="det preview-search adaptive.yaml">
          Search method {search.name} does not stop trials early, so it has no rungs.
        </EmptyState>
      )}
      {brackets.length > 0 && <Rungs search={search} />}
    </div>
  );
}

/** Hyperparameters in one line: "lr 0.1, optimizer adam". */
function Hparams({ hparams = {} }: { hparams?: Record<string, unknown> | undefined }) {
  return Object.entries(hparams)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value], i) => (
      <Fragment key={name}>
        {i > 0 && ", "}
        {name} <Value value={value} />
      </Fragment>
    ));
}

/** The Pareto front of a search with several objectives. */
function ParetoFront({ search }: { search: Message["Search"] }) {
  return (
    <ScrollBox label="Pareto front">
      <table>
        <caption className={styles.caption}>Pareto front</caption>
        <thead>
          <tr>
            <th>Trial</th>
            <th className="number">Steps</th>
            {search.objectives?.map(({ metric, smallerIsBetter }) => (
              <th key={metric} className="number">
                {metric}{" "}
                <Icon
                  name={smallerIsBetter ? "down" : "up"}
                  label={smallerIsBetter ? "lower is better" : "higher is better"}
                />
              </th>
            ))}
            <th>Hyperparameters</th>
          </tr>
        </thead>
        <tbody>
          {search.front?.map(({ trialId = 0, stepsCompleted = 0, metrics, hparams }) => (
            <tr key={`${trialId} ${stepsCompleted}`}>
              <td>
                <Link to={paths.trial(trialId)}>{trialId}</Link>
              </td>
              <td className="number">{formatStep(stepsCompleted)}</td>
              {metrics?.map((value, i) => (
                <td key={i} className="number">
                  {formatNumber(value)}
                </td>
              ))}
              <td>
                <Hparams hparams={hparams} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}
