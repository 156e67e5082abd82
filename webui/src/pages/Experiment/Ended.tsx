import { Link } from "react-router";
import { formatNumber } from "@/charts/format";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { ScrollBox } from "@/components/Page/ScrollBox";
import { State } from "@/components/State/State";
import { paths } from "@/paths";
import { stepsOf } from "./ended";
import styles from "./Experiment.module.css";
import { useLengths } from "./useExperiment";

// As many as are looked at; the trials' table has them all.
const MOST = 12;

interface Props {
  experimentId: number;
  unit: string;
  /** Of the rungs of all brackets. */
  lengths: readonly number[];
}

/** Which trials came to which rung and no further, the best first. Trials say their lengths in batches alone. */
export function Ended({ experimentId, unit, lengths }: Props) {
  const { data: trials, error } = useLengths(experimentId);
  if (error) return <ErrorPanel error={error} />;
  if (!trials || unit !== "batches") return null;
  return (
    <section aria-labelledby="ended">
      <h2 id="ended">Who came how far</h2>
      <ScrollBox label="Who came how far">
        <table>
          <thead>
            <tr>
              <th className="number">{unit}</th>
              <th className="number">Trials</th>
              <th>The best of them</th>
            </tr>
          </thead>
          <tbody>
            {stepsOf(lengths, trials).map((step) => (
              <tr key={step.length}>
                <td className="number">{formatNumber(step.length)}</td>
                <td className="number">{step.trials.length}</td>
                <td>
                  <ul className={styles.inline}>
                    {step.trials.slice(0, MOST).map((trial) => (
                      <li key={trial.id}>
                        <Link to={paths.trial(trial.id ?? 0)}>{trial.id}</Link>{" "}
                        {formatNumber(trial.searcherMetricValue)}
                        {trial.state !== "STATE_COMPLETED" && (
                          <>
                            {" "}
                            <State state={trial.state} />
                          </>
                        )}
                      </li>
                    ))}
                    {step.trials.length > MOST && (
                      <li>
                        <Link to={paths.experiment(experimentId, "trials")}>
                          and {step.trials.length - MOST} more
                        </Link>
                      </li>
                    )}
                  </ul>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </section>
  );
}
