import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import { useProjectChoices } from "@/api/useProjectChoices";
import { refusalOf, useRoles } from "@/api/useRoles";
import { RequestId } from "@/components/ErrorPanel/RequestId";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { counted } from "@/words";
import type { Row } from "./rows";
import { ROWS_KEY } from "./useRows";
import styles from "./Experiments.module.css";

interface Action {
  label: string;
  /** In the past, for what is said after it. */
  done: string;
  /** What is lost by it: it is asked for before. */
  loss?: string;
  /** There are no such experiments afterwards. */
  isEnd?: boolean;
  send: (id: number) => Promise<unknown>;
}

type Verb = "pause" | "activate" | "cancel" | "kill" | "archive" | "unarchive";

const sends = (verb: Verb) => (id: number) =>
  api.POST(`/api/v1/experiments/{id}/${verb}`, { params: { path: { id } } });

const ACTIONS: Action[] = [
  { label: "Pause", done: "paused", send: sends("pause") },
  { label: "Activate", done: "activated", send: sends("activate") },
  {
    label: "Cancel",
    done: "canceled",
    loss: "Trials end after a last checkpoint, and what they have not done yet is not done.",
    send: sends("cancel"),
  },
  {
    label: "Kill",
    done: "killed",
    loss: "Trials end at once, without a last checkpoint.",
    send: sends("kill"),
  },
  { label: "Archive", done: "archived", send: sends("archive") },
  { label: "Unarchive", done: "unarchived", send: sends("unarchive") },
  {
    label: "Delete",
    done: "deleted",
    loss:
      "Their trials, logs, metrics and checkpoints are lost. Those of which a version of a model " +
      "holds a checkpoint are refused.",
    isEnd: true,
    send: (experiment_id) =>
      api.DELETE("/api/v1/experiments/{experiment_id}", { params: { path: { experiment_id } } }),
  },
];

/** With how many it was done, and what was refused first. */
interface Outcome {
  done: number[];
  words: string;
  error?: unknown;
}

/** One after the other, so that many do not crowd out others' calls; what was refused is told. */
async function doAll(ids: readonly number[], action: Action): Promise<Outcome> {
  const done: number[] = [];
  const refused: unknown[] = [];
  for (const id of ids) {
    try {
      await action.send(id);
      done.push(id);
    } catch (error) {
      refused.push(error);
    }
  }
  const words = `${done.length} ${action.done}`;
  if (refused.length === 0) return { done, words };
  const [error] = refused;
  const why = error instanceof Error ? error.message : String(error);
  return { done, words: `${words}; ${refused.length} refused: ${why}`, error };
}

interface Props {
  selected: ReadonlySet<number>;
  rows: readonly Row[];
  isRuns: boolean;
  onClear: () => void;
  /** These experiments are no more: no action would find them. */
  onGone: (ids: readonly number[]) => void;
  /** Runs themselves, or the best of the experiments. */
  onCompare: (trials: readonly number[]) => void;
}

/** What can be done with the selected rows, at the table's foot; once they are gone, what was done. */
export function BulkBar({ selected, rows, isRuns, onClear, onGone, onCompare }: Props) {
  const client = useQueryClient();
  const [said, setSaid] = useState<Outcome>();
  const [isBusy, setBusy] = useState(false);
  const ids = [...selected];
  const trials = isRuns
    ? ids
    : rows.map((row) => row.experiment?.bestTrialId ?? 0).filter((id) => id > 0);
  const [isMoving, setMoving] = useState(false);
  // Of those of which one may not, the master says so.
  const refused = refusalOf(useRoles(), "Editor");
  const isOff = isBusy || Boolean(refused);
  const act = async (action: Action) => {
    const what = counted(ids.length, "experiment");
    if (action.loss && !confirm(`${action.label} ${what}? ${action.loss}`)) return;
    setBusy(true);
    const outcome = await doAll(ids, action);
    setSaid(outcome);
    setBusy(false);
    if (action.isEnd) onGone(outcome.done);
    await client.invalidateQueries({ queryKey: ROWS_KEY });
  };
  const clear = () => {
    setSaid(undefined);
    onClear();
  };
  const areSome = ids.length > 0;
  if (!areSome && !said) return null;
  return (
    <div className={styles.bulk} role="toolbar" aria-label="Selected rows">
      {areSome && <strong>{ids.length} selected</strong>}
      {areSome &&
        !isRuns &&
        ACTIONS.map((action) => (
          <button
            key={action.label}
            type="button"
            disabled={isOff}
            title={refused || undefined}
            onClick={() => void act(action)}
          >
            {action.label}
          </button>
        ))}
      {areSome && !isRuns && (
        <button
          type="button"
          disabled={isOff}
          title={refused || undefined}
          onClick={() => setMoving(true)}
        >
          Move
        </button>
      )}
      {isMoving && (
        <Move
          count={ids.length}
          onMove={(action) => act(action)}
          onClose={() => setMoving(false)}
        />
      )}
      {trials.length > 0 && (
        <button type="button" onClick={() => onCompare(trials)}>
          Compare {trials.length} {trials.length === 1 ? "trial" : "trials"}
        </button>
      )}
      <button type="button" className="plain" onClick={clear}>
        Clear
      </button>
      <span role="status">
        {said?.words}
        {said?.error !== undefined && (
          <>
            {" "}
            <RequestId error={said.error} />
          </>
        )}
      </span>
    </div>
  );
}

interface MoveProps {
  count: number;
  onMove: (action: Action) => Promise<void>;
  onClose: () => void;
}

/** Asks for the project that all of them go to. */
function Move({ count, onMove, onClose }: MoveProps) {
  const choices = useProjectChoices();
  if (!choices) return null;
  const { options, problem } = choices;
  return (
    <FormDialog
      title={`Move ${counted(count, "experiment")}`}
      problem={problem}
      verb="Move"
      onClose={onClose}
      fields={[
        {
          ...{ name: "project", label: "To project", type: "choice", required: true, options },
          ...{ value: options[0]?.[0], hint: "Those in which you are an Editor" },
        },
      ]}
      onSubmit={({ project }) =>
        onMove({
          ...{ label: "Move", done: "moved" },
          send: (experiment_id) =>
            api.POST("/api/v1/experiments/{experiment_id}/move", {
              params: { path: { experiment_id } },
              body: { destinationProjectId: Number(project) },
            }),
        })
      }
    />
  );
}
