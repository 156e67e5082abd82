import type { Experiment, Message } from "@/api/types";
import { CopyText } from "@/components/CopyText/CopyText";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { Icon } from "@/components/Icon/Icon";
import { ScrollBox } from "@/components/Page/ScrollBox";
import { Duration, Time } from "@/components/Time/Time";
import { formatCount } from "@/text";
import styles from "./Trial.module.css";

type Run = NonNullable<Message["Trial"]["runs"]>[number];

/** The attempts of the trial: where they ran and why they ended, as a timeline and a table. */
export function Attempts({
  trial,
  experiment,
}: {
  trial: Message["Trial"];
  experiment?: Experiment | undefined;
}) {
  const runs = trial.runs ?? [];
  if (experiment?.unmanaged)
    return <EmptyState>The attempts of an unmanaged trial run outside of the cluster.</EmptyState>;
  if (runs.length === 0) {
    return (
      <EmptyState command="det job list">
        The trial has not started yet. The queue shows what it is waiting for.
      </EmptyState>
    );
  }
  return (
    <div className={styles.stack}>
      <Timeline trial={trial} runs={runs} />
      <p className={styles.reason}>
        <Icon name="cross" /> failed, <Icon name="check" /> ended, <Icon name="dot" /> running;
        queued in between. <Time at={trial.startTime} /> to{" "}
        {trial.endTime ? <Time at={trial.endTime} /> : "now"}.
      </p>
      <ScrollBox label="Attempts">
        <table>
          <thead>
            <tr>
              <th className="number">Attempt</th>
              <th>Started</th>
              <th>Duration</th>
              <th className="number">Slots</th>
              <th>Agents</th>
              <th>Exit reason</th>
              <th>Allocation</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.allocationId}>
                <td className="number">{run.runId}</td>
                <td>
                  <Time at={run.startTime} />
                </td>
                <td>
                  <Duration from={run.startTime} to={run.endTime} />
                </td>
                <td className="number">{run.slots}</td>
                <td>{run.agentIds?.join(", ")}</td>
                <td className={isFailed(run) ? styles.bad : undefined}>{formatExit(run)}</td>
                <td>
                  <CopyText text={run.allocationId ?? ""} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </div>
  );
}

// A process that was asked to stop exits by a signal; that is not a failure.
const isFailed = (run: Run) =>
  run.exitCode !== undefined && run.exitCode !== 0 && run.exitReason !== "STOPPED";

function formatExit(run: Run): string {
  if (!run.endTime) return "running";
  const reason = run.exitReason ?? "";
  const words = /^[A-Z_]+$/.test(reason) ? reason.toLowerCase().replaceAll("_", " ") : reason;
  const hasCode = run.exitCode === undefined || /exit code|signal/.test(reason);
  return hasCode ? words : `${words} (exit code ${run.exitCode})`;
}

function Timeline({ trial, runs }: { trial: Message["Trial"]; runs: readonly Run[] }) {
  const from = Date.parse(trial.startTime ?? "");
  const to = trial.endTime ? Date.parse(trial.endTime) : Date.now();
  const share = (time: string | undefined) =>
    (((time ? Date.parse(time) : to) - from) / Math.max(1, to - from)) * 100;
  return (
    <div
      className={styles.timeline}
      role="img"
      aria-label={`${formatCount(runs.length, "attempt")} over time; queued in between`}
    >
      {runs.map((run) => {
        const left = share(run.startTime);
        const width = Math.max(0.3, share(run.endTime) - left);
        return (
          <span
            key={run.allocationId}
            title={`attempt ${run.runId ?? 0}: ${formatExit(run)}`}
            className={isFailed(run) ? styles.failedRun : run.endTime ? styles.run : styles.nowRun}
            style={{ left: `${left}%`, width: `${width}%` }}
          >
            <Icon name={isFailed(run) ? "cross" : run.endTime ? "check" : "dot"} /> {run.runId}
          </span>
        );
      })}
    </div>
  );
}
