import { Link, useNavigate } from "react-router";
import { useMutation } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import type { Experiment } from "@/api/types";
import { paths } from "@/paths";
import styles from "./Experiment.module.css";
import { useVerb, type Verb } from "./useExperiment";

const LABELS: Record<Verb, string> = {
  ...{ pause: "Pause", activate: "Activate", cancel: "Cancel", kill: "Kill" },
  ...{ archive: "Archive", unarchive: "Unarchive" },
};

/** What can be done to an experiment in a state (without "STATE_"). */
export function verbsFor(state: string, isArchived: boolean): Verb[] {
  if (["COMPLETED", "CANCELED", "ERROR"].includes(state))
    return [isArchived ? "unarchive" : "archive"];
  if (state === "PAUSED") return ["activate", "cancel", "kill"];
  if (state.startsWith("STOPPING")) return ["kill"];
  if (state.startsWith("DELET")) return [];
  return ["pause", "cancel", "kill"];
}

/** The buttons of the status line, and what was refused. */
export function Actions({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const state = (experiment.state ?? "").replace("STATE_", "");
  const verbs = verbsFor(state, experiment.archived ?? false);
  const { mutate, error, isPending } = useVerb(id);
  const navigate = useNavigate();
  const goOn = useMutation({
    mutationFn: () => dataOf(api.POST("/api/v1/experiments/continue", { body: { id } })),
    onSuccess: () => void navigate(0),
  });
  const hasEnded = verbs.includes("archive") || verbs.includes("unarchive");
  const refused = error ?? goOn.error;
  const confirmKill = () =>
    confirm(`Kill experiment ${id}? Its trials end at once, without a last checkpoint.`);
  return (
    <div className={styles.actions}>
      {verbs.map((verb) => (
        <button
          key={verb}
          type="button"
          disabled={isPending}
          onClick={() => (verb !== "kill" || confirmKill()) && mutate(verb)}
        >
          {LABELS[verb]}
        </button>
      ))}
      {hasEnded && !experiment.archived && (
        <button type="button" disabled={goOn.isPending} onClick={() => goOn.mutate()}>
          Continue
        </button>
      )}
      <Link className={styles.button} to={paths.experiment(id, "fork")}>
        Fork
      </Link>
      {(experiment.numTrials ?? 0) > 0 && (
        <Link className={styles.button} to={paths.startFrom(id, "search")}>
          Search from this
        </Link>
      )}
      {refused && (
        <span role="alert" className={styles.refused}>
          {refused.message}
        </span>
      )}
    </div>
  );
}
