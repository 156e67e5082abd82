import { Link } from "react-router";
import type { Experiment } from "@/api/types";
import { formatNumber } from "@/charts/format";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { ScrollBox } from "@/components/Page/ScrollBox";
import { paths } from "@/paths";
import { hparamsText } from "./curves";
import styles from "./Experiment.module.css";
import { Ended } from "./Ended";
import { useSearch } from "./useExperiment";

/** Rungs and brackets of the search: how many trials came to each length, and how many were let go on. */
export function Search({ experiment }: { experiment: Experiment }) {
  const { data, error, isLoading } = useSearch(experiment.id ?? 0);
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
      {brackets.length === 0 && (
        <EmptyState command="det preview-search adaptive.yaml">
          The method {search.name} stops no trial early: it has no rungs.
        </EmptyState>
      )}
      {brackets.map((bracket, i) => (
        <ScrollBox key={i} label={`Bracket ${i + 1}`}>
          <table>
            <caption className={brackets.length > 1 ? undefined : "visually-hidden"}>
              Bracket {i + 1}
            </caption>
            <thead>
              <tr>
                <th className="number">{search.unit}</th>
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
        </ScrollBox>
      ))}
      {brackets.length > 0 && (
        <Ended
          experimentId={experiment.id ?? 0}
          unit={search.unit ?? ""}
          lengths={brackets.flatMap((b) => (b.rungs ?? []).map((rung) => rung.length ?? 0))}
        />
      )}
    </div>
  );
}
