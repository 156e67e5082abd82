import { Link, useNavigate } from "react-router";
import { useMutation } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import type { Experiment } from "@/api/types";
import { useRoles } from "@/api/useRoles";
import { formatBytes } from "@/charts/format";
import { useDialog } from "@/components/Page/useParam";
import { paths } from "@/paths";
import { counted } from "@/words";
import { Edit, Move } from "./Change";
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
  const { may } = useRoles();
  const mayChange = may("Editor", experiment.workspaceId);
  const [dialog, setDialog] = useDialog();
  const remove = useMutation({
    mutationFn: () =>
      api.DELETE("/api/v1/experiments/{experiment_id}", {
        params: { path: { experiment_id: id } },
      }),
    onSuccess: () => void navigate(paths.experiments),
  });
  const hasEnded = verbs.includes("archive") || verbs.includes("unarchive");
  const refused = error ?? goOn.error ?? remove.error;
  const confirmKill = () =>
    confirm(`Kill experiment ${id}? Its trials end at once, without a last checkpoint.`);
  const confirmRemove = () =>
    confirm(
      `Delete experiment ${id}? Its ${counted(experiment.numTrials ?? 0, "trial")}, logs and ` +
        `${formatBytes(Number(experiment.checkpointSize ?? 0))} of checkpoints are lost; ` +
        "checkpoints of registered models stay.",
    );
  const close = () => setDialog("");
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
      {mayChange && (
        <>
          <button type="button" onClick={() => setDialog("edit")}>
            Edit
          </button>
          <button type="button" onClick={() => setDialog("move")}>
            Move
          </button>
          {(hasEnded || state === "DELETE_FAILED") && (
            <button
              type="button"
              disabled={remove.isPending}
              onClick={() => confirmRemove() && remove.mutate()}
            >
              Delete
            </button>
          )}
          {dialog === "edit" && <Edit experiment={experiment} onClose={close} />}
          {dialog === "move" && <Move experiment={experiment} onClose={close} />}
        </>
      )}
      {refused && (
        <span role="alert" className={styles.refused}>
          {refused.message}
        </span>
      )}
    </div>
  );
}
