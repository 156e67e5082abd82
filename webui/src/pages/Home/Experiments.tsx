import { useId, type ReactNode } from "react";
import { Link } from "react-router";
import type { Experiment } from "@/api/types";
import { Meter } from "@/components/Meter/Meter";
import { State } from "@/components/State/State";
import { Unmanaged } from "@/components/State/Unmanaged";
import { Duration, Time } from "@/components/Time/Time";
import { formatPercent } from "@/format";
import { paths } from "@/paths";
import styles from "./Home.module.css";

interface Props {
  title: string;
  experiments: Experiment[];
  /** Shows the end and duration instead of the progress. */
  ended?: boolean;
  /** Shown instead of an empty table. */
  children?: ReactNode;
}

function Row({ experiment, ended }: { experiment: Experiment; ended: boolean }) {
  const { id = 0, name, state, stateReason, progress, numTrials, startTime, endTime } = experiment;
  return (
    <tr>
      <td className="number">{id}</td>
      <td>
        <Link
          to={paths.experiment(id)}
          title={stateReason}
          className={stateReason ? styles.named : undefined}
        >
          {name}
        </Link>
        {experiment.unmanaged && (
          <>
            {" "}
            <Unmanaged />
          </>
        )}
        {stateReason && <span className={styles.reason}>{stateReason}</span>}
      </td>
      <td>
        <State state={state} />
      </td>
      <td className="number">{numTrials}</td>
      <td>{experiment.displayName || experiment.username}</td>
      <td>
        <Time at={ended ? endTime : startTime} />
      </td>
      <td className="number">
        {ended ? (
          <Duration from={startTime} to={endTime} />
        ) : (
          <span className={styles.progress}>
            <Meter label={`Progress of experiment ${id}`} value={progress ?? 0} all={1} />
            {formatPercent(progress ?? 0)}
          </span>
        )}
      </td>
    </tr>
  );
}

/** A short list of experiments. */
export function Experiments({ title, experiments, ended = false, children }: Props) {
  const heading = useId();
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>{title}</h2>
      {experiments.length === 0 ? (
        children
      ) : (
        <div className={styles.scroll} tabIndex={0} role="group" aria-labelledby={heading}>
          <table className={styles.list}>
            <thead>
              <tr>
                <th className="number">ID</th>
                <th>Name</th>
                <th>State</th>
                <th className="number">Trials</th>
                <th>User</th>
                <th>{ended ? "Ended" : "Started"}</th>
                <th className="number">{ended ? "Duration" : "Progress"}</th>
              </tr>
            </thead>
            <tbody>
              {experiments.map((experiment) => (
                <Row key={experiment.id} experiment={experiment} ended={ended} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
