import { Icon, type IconName } from "../Icon/Icon";
import styles from "./State.module.css";

type Kind = "running" | "done" | "waiting" | "paused" | "failed" | "stopped";

const icons: Record<Kind, IconName> = {
  running: "dot",
  done: "check",
  waiting: "quarter",
  paused: "pause",
  failed: "cross",
  stopped: "square",
};

const kinds: Record<string, Kind> = {
  ACTIVE: "running",
  RUNNING: "running",
  COMPLETED: "done",
  QUEUED: "waiting",
  PULLING: "waiting",
  STARTING: "waiting",
  PAUSED: "paused",
  ERROR: "failed",
  DELETE_FAILED: "failed",
  PENDING: "waiting",
  DELIVERED: "done",
  FAILED: "failed",
};

// The states of an allocation in the words of the pages.
const names: Record<string, string> = {
  TERMINATING: "STOPPING",
  TERMINATED: "ENDED",
  WAITING: "STARTING",
};

/** "STATE_STOPPING_KILLED" becomes "Stopping (killed)". */
function toWords(name: string): string {
  const words = name.toLowerCase().split("_");
  const [first = "", ...rest] = words;
  const capital = first.charAt(0).toUpperCase() + first.slice(1);
  if (rest.length === 0) return capital;
  return first === "stopping" ? `${capital} (${rest.join(" ")})` : [capital, ...rest].join(" ");
}

/** The state of an experiment, trial, other task, checkpoint or delivery: symbol, word and colour. */
export function State({ state }: { state: string | undefined }) {
  const own = (state ?? "").replace(/^(TRIAL_|GENERIC_TASK_)?STATE_/, "") || "UNSPECIFIED";
  const name = names[own] ?? own;
  const kind = kinds[name] ?? "stopped";
  return (
    <span className={styles.state}>
      <span className={styles[kind]}>
        <Icon name={icons[kind]} />
      </span>
      {toWords(name)}
    </span>
  );
}
