import { Link } from "react-router";
import type { Experiment, Message } from "@/api/types";
import { formatNumber } from "@/charts/format";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { ScrollBox } from "@/components/Page/ScrollBox";
import { paths } from "@/paths";
import { hparamsText } from "./curves";
import styles from "./Experiment.module.css";
import { Rungs } from "./Rungs";
import { useSearch } from "./useExperiment";

type Bracket = NonNullable<Message["Search"]["brackets"]>[number];

/** Rungs and brackets of the search: how many trials came to each length, who they were, and who was let go on. */
export function Search({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const { data, error, isLoading } = useSearch(id);
  if (error) return <ErrorPanel error={error} />;
  const search = data?.search;
  if (isLoading || !search) return null;
  const brackets = search.brackets ?? [];
  const most = Math.max(
    1,
    ...brackets.flatMap((b) => (b.rungs ?? []).map((rung) => Number(rung.reported))),
  );
  return (
    <div className={styles.stack}>
      {search.bestTrialId ? (
        <p>
          Best: {formatNumber(search.bestMetric)} by{" "}
          <Link to={paths.trial(search.bestTrialId)}>trial {search.bestTrialId}</Link> (
          {hparamsText(search.bestHparams)})
        </p>
      ) : null}
      {(search.front?.length ?? 0) > 0 && <Front search={search} />}
      {brackets.length === 0 && (
        <EmptyState command="det preview-search adaptive.yaml">
          The method {search.name} stops no trial early: it has no rungs.
        </EmptyState>
      )}
      {brackets.map((bracket, i) => (
        <ScrollBox key={i} label={`Bracket ${i + 1}`}>
          <BracketTable
            title={`Bracket ${i + 1}`}
            isAlone={brackets.length === 1}
            unit={search.unit ?? ""}
            bracket={bracket}
            most={most}
          />
        </ScrollBox>
      ))}
      {brackets.length > 0 && <Rungs experimentId={id} search={search} />}
    </div>
  );
}

interface BracketProps {
  title: string;
  isAlone: boolean;
  unit: string;
  bracket: Bracket;
  /** Trials that came to the fullest rung of all brackets: a bar of full width. */
  most: number;
}

function BracketTable({ title, isAlone, unit, bracket, most }: BracketProps) {
  return (
    <table>
      <caption className={isAlone ? "visually-hidden" : styles.caption}>{title}</caption>
      <thead>
        <tr>
          <th className="number">{unit}</th>
          <th className="number">Came</th>
          <th className="number">Went on</th>
          <th className="number">Stopped or waiting</th>
          <th className="number">Best</th>
          <th>Went on, or done</th>
        </tr>
      </thead>
      <tbody>
        {(bracket.rungs ?? []).map((rung, place, rungs) => {
          const came = Number(rung.reported);
          // At the last rung a trial is done, not stopped.
          const isLast = place === rungs.length - 1;
          const on = isLast ? came : Number(rung.continued);
          return (
            <tr key={rung.length}>
              <td className="number">{formatNumber(rung.length)}</td>
              <td className="number">{came}</td>
              <td className="number">{isLast ? "–" : on}</td>
              <td className="number">{isLast ? "–" : came - on}</td>
              <td className="number">{formatNumber(rung.best)}</td>
              <td>
                <span className={styles.bars} aria-hidden>
                  <span className={styles.bar} style={{ width: `${(on / most) * 100}%` }} />
                  <span
                    className={`${styles.bar} ${styles.barRest}`}
                    style={{ width: `${((came - on) / most) * 100}%` }}
                  />
                </span>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Of a search with several objectives: the validations that no other one beats in all of them. */
function Front({ search }: { search: Message["Search"] }) {
  return (
    <ScrollBox label="Front">
      <table>
        <caption className={styles.caption}>Front: beaten by none in every objective</caption>
        <thead>
          <tr>
            <th>Trial</th>
            <th className="number">Steps</th>
            {search.objectives?.map(({ metric, smallerIsBetter }) => (
              <th key={metric} className="number">
                {metric} {smallerIsBetter ? "↓" : "↑"}
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
              <td className="number">{formatNumber(stepsCompleted)}</td>
              {metrics?.map((value, i) => (
                <td key={i} className="number">
                  {formatNumber(value)}
                </td>
              ))}
              <td>{hparamsText(hparams)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}
