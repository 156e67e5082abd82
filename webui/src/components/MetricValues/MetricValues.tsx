import { Link } from "react-router";
import { formatStep } from "@/charts/format";
import { getValue, type Point } from "@/charts/points";
import { paths } from "@/paths";
import { ScrollBox } from "../Page/ScrollBox";
import styles from "./MetricValues.module.css";

interface Props {
  title: string;
  metric: string;
  /** The reports of each trial, oldest first. */
  trials: readonly { trialId: number; points: readonly Point[] }[];
}

// The newest reports of a trial, or trials.
const MAX_SHOWN = 50;

/**
 * A metric whose values are texts, lists or objects, which no chart can show: the newest reports of a single
 * trial, or the newest report of each of several.
 */
export function MetricValues({ title, metric, trials }: Props) {
  const isSingle = trials.length === 1;
  const all = isSingle
    ? (trials[0]?.points ?? []).map((point) => ({ id: trials[0]?.trialId ?? 0, point })).reverse()
    : trials.flatMap(({ trialId, points }) => {
        const point = points.at(-1);
        return point ? [{ id: trialId, point }] : [];
      });
  return (
    <figure className={styles.values}>
      <figcaption className={styles.title}>{title}</figcaption>
      <ScrollBox label={`Values of ${title}`}>
        <table>
          <thead>
            <tr>
              {!isSingle && <th className="number">Trial</th>}
              <th className="number">Batches</th>
              <th>Value</th>
            </tr>
          </thead>
          <tbody>
            {all.slice(0, MAX_SHOWN).map(({ id, point }, i) => (
              <tr key={i}>
                {!isSingle && (
                  <td className="number">
                    <Link to={paths.trial(id)}>{id}</Link>
                  </td>
                )}
                <td className="number">{formatStep(point.batches)}</td>
                <td className={styles.value}>{toText(getValue(point, metric))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {all.length > MAX_SHOWN && (
        <p className={styles.hint}>
          {isSingle ? "The newest" : "The first"} {MAX_SHOWN} of {all.length}.
        </p>
      )}
    </figure>
  );
}

const toText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
