import { Fragment } from "react";
import { Link } from "react-router";
import type { Message } from "@/api/types";
import { formatNumber, formatStep } from "@/charts/format";
import { Icon, type IconName } from "@/components/Icon/Icon";
import { ScrollBox } from "@/components/Page/ScrollBox";
import { paths } from "@/paths";
import styles from "./Experiment.module.css";

type Bracket = NonNullable<Message["Search"]["brackets"]>[number];
type Rung = NonNullable<Bracket["rungs"]>[number];
type Arrival = NonNullable<Rung["arrivals"]>[number];

// The number of trials shown per rung; the others are collapsed.
const MAX_SHOWN = 12;

const OUTCOMES: Record<
  NonNullable<Arrival["outcome"]>,
  readonly [icon: IconName | undefined, word: string]
> = {
  OUTCOME_CONTINUED: ["triangle", "promoted"],
  OUTCOME_WAITING: ["dot", "waiting"],
  OUTCOME_STOPPED: ["square", "stopped"],
  OUTCOME_DONE: ["check", "done"],
  OUTCOME_FAILED: ["cross", "failed"],
  OUTCOME_UNSPECIFIED: [undefined, "unknown"],
};

/** The trials of each bracket and rung, and their outcomes. */
export function Rungs({ search }: { search: Message["Search"] }) {
  const { unit = "", brackets = [] } = search;
  const max = Math.max(
    1,
    ...brackets.flatMap((b) => (b.rungs ?? []).map((rung) => Number(rung.reported))),
  );
  return (
    <section aria-labelledby="rungs" className={styles.stack}>
      <h2 id="rungs">Promotions by rung</h2>
      <p className={styles.reason}>
        {Object.values(OUTCOMES).map(
          ([icon, word]) =>
            icon && (
              <Fragment key={word}>
                <Icon name={icon} /> {word}{" "}
              </Fragment>
            ),
        )}
        &middot; values are {search.objectives?.[0]?.metric} at that rung.
      </p>
      {brackets.map((bracket, i) => (
        <ScrollBox key={i} label={`Bracket ${i + 1}`}>
          <BracketTable
            title={`Bracket ${i + 1}`}
            isAlone={brackets.length === 1}
            unit={unit}
            bracket={bracket}
            max={max}
          />
        </ScrollBox>
      ))}
    </section>
  );
}

interface BracketProps {
  title: string;
  isAlone: boolean;
  unit: string;
  bracket: Bracket;
  /** The trials in the largest rung of all brackets: the full width of a bar. */
  max: number;
}

function BracketTable({ title, isAlone, unit, bracket, max }: BracketProps) {
  return (
    <table>
      <caption className={isAlone ? "visually-hidden" : styles.caption}>{title}</caption>
      <thead>
        <tr>
          <th className="number">{unit}</th>
          <th className="number">Entered</th>
          <th className="number">Promoted</th>
          <th className="number">Stopped or waiting</th>
          <th className="number">Best</th>
          <th>Promoted or done</th>
          <th>Trials, best first</th>
        </tr>
      </thead>
      <tbody>
        {(bracket.rungs ?? []).map((rung, index, rungs) => (
          <RungRow
            key={`${index} ${rung.length ?? 0}`}
            rung={rung}
            isLast={index === rungs.length - 1}
            max={max}
          />
        ))}
      </tbody>
    </table>
  );
}

function RungRow({ rung, isLast, max }: { rung: Rung; isLast: boolean; max: number }) {
  const entered = Number(rung.reported);
  // At the last rung a trial is done, not stopped.
  const promoted = isLast ? entered : Number(rung.continued);
  const arrivals = rung.arrivals ?? [];
  const unnamed = entered - arrivals.length;
  return (
    <tr>
      <td className="number">{formatStep(rung.length)}</td>
      <td className="number">{entered}</td>
      <td className="number">{isLast ? "–" : promoted}</td>
      <td className="number">{isLast ? "–" : entered - promoted}</td>
      <td className="number">{formatNumber(rung.best)}</td>
      <td>
        <span className={styles.bars} aria-hidden>
          <span className={styles.bar} style={{ width: `${(promoted / max) * 100}%` }} />
          <span
            className={`${styles.bar} ${styles.barRest}`}
            style={{ width: `${((entered - promoted) / max) * 100}%` }}
          />
        </span>
      </td>
      <td className={styles.arrivals}>
        <Arrivals arrivals={arrivals.slice(0, MAX_SHOWN)} />
        {arrivals.length > MAX_SHOWN && (
          <details>
            <summary>and {arrivals.length - MAX_SHOWN} more</summary>
            <Arrivals arrivals={arrivals.slice(MAX_SHOWN)} />
          </details>
        )}
        {unnamed > 0 && <span className={styles.reason}>{unnamed} unknown</span>}
      </td>
    </tr>
  );
}

function Arrivals({ arrivals }: { arrivals: readonly Arrival[] }) {
  return (
    <ul className={styles.inline}>
      {arrivals.map(({ trialId = 0, metric, outcome = "OUTCOME_UNSPECIFIED" }) => {
        const [icon, word] = OUTCOMES[outcome];
        return (
          <li key={trialId} title={word}>
            {icon && <Icon name={icon} />} <Link to={paths.trial(trialId)}>{trialId}</Link>{" "}
            {formatNumber(metric)}
            <span className="visually-hidden"> {word}</span>
          </li>
        );
      })}
    </ul>
  );
}
