import { Link } from "react-router";
import type { Message } from "@/api/types";
import { formatNumber } from "@/charts/format";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { ScrollBox } from "@/components/Page/ScrollBox";
import { paths } from "@/paths";
import { counted } from "@/words";
import styles from "./Experiment.module.css";
import { stepsOf, type Arrival, type Outcome } from "./rungs";
import { useCurves, useLengths } from "./useExperiment";

// As many as are looked at; the others are folded away.
const MOST = 12;

const MARKS: Record<Outcome, string> = {
  ...{ "went on": "▲", stopped: "■", done: "✓", failed: "✕", "on its way": "●" },
};

interface Props {
  experimentId: number;
  search: Message["Search"];
}

/** Rung by rung: which trials came there, with which metric, and what became of each. */
export function Rungs({ experimentId, search }: Props) {
  const { unit = "", brackets = [] } = search;
  const { metric = "", smallerIsBetter = false } = search.objectives?.[0] ?? {};
  const { data: trials, error } = useLengths(experimentId);
  const { data: curves, error: refused } = useCurves(
    experimentId,
    metric ? { group: "validation", name: metric } : undefined,
  );
  if (unit !== "batches") {
    return (
      <p className={styles.reason}>
        Trials tell how far they came in batches, and this search counts {unit}: which of them came
        to which rung is not known here.
      </p>
    );
  }
  if (error ?? refused) return <ErrorPanel error={error ?? refused} />;
  if (!trials || !curves) return null;
  const steps = stepsOf(brackets, trials, curves, smallerIsBetter);
  const before = trials.length - (steps.at(-1)?.arrivals.length ?? 0);
  return (
    <section aria-labelledby="rungs" className={styles.stack}>
      <h2 id="rungs">Rung by rung</h2>
      <p className={styles.reason}>
        {Object.entries(MARKS)
          .map(([outcome, mark]) => `${mark} ${outcome}`)
          .join(", ")}
        ; the value is the {metric} there. A trial also passes rungs that its own bracket has not.
      </p>
      <ScrollBox label="Rung by rung">
        <table>
          <thead>
            <tr>
              <th className="number">{unit}</th>
              <th>Brackets</th>
              <th className="number">Trials</th>
              <th>The best first</th>
            </tr>
          </thead>
          <tbody>
            {steps.map((step) => (
              <tr key={step.length}>
                <td className="number">{formatNumber(step.length)}</td>
                <td>{step.brackets.join(", ")}</td>
                <td className="number">{step.arrivals.length}</td>
                <td>
                  <Arrivals arrivals={step.arrivals.slice(0, MOST)} />
                  {step.arrivals.length > MOST && (
                    <details>
                      <summary>and {step.arrivals.length - MOST} more</summary>
                      <Arrivals arrivals={step.arrivals.slice(MOST)} />
                    </details>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {before > 0 && (
        <p className={styles.reason}>{counted(before, "trial")} before the first rung.</p>
      )}
    </section>
  );
}

function Arrivals({ arrivals }: { arrivals: readonly Arrival[] }) {
  return (
    <ul className={styles.inline}>
      {arrivals.map(({ trialId, metric, outcome }) => (
        <li key={trialId} title={outcome}>
          <span aria-hidden>{MARKS[outcome]}</span> <Link to={paths.trial(trialId)}>{trialId}</Link>{" "}
          {formatNumber(metric)}
          <span className="visually-hidden"> {outcome}</span>
        </li>
      ))}
    </ul>
  );
}
