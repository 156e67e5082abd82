import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import type { Row } from "./rows";
import { ROWS_KEY } from "./useRows";
import styles from "./Experiments.module.css";

interface Action {
  label: string;
  /** In the past, for what is said after it. */
  done: string;
  /** What is lost by it: it is asked for before. */
  loss?: string;
  path: `/api/v1/experiments/{id}/${"pause" | "activate" | "cancel" | "kill" | "archive" | "unarchive"}`;
}

const ACTIONS: Action[] = [
  { label: "Pause", done: "paused", path: "/api/v1/experiments/{id}/pause" },
  { label: "Activate", done: "activated", path: "/api/v1/experiments/{id}/activate" },
  {
    label: "Cancel",
    done: "canceled",
    loss: "Trials end after a last checkpoint, and what they have not done yet is not done.",
    path: "/api/v1/experiments/{id}/cancel",
  },
  {
    label: "Kill",
    done: "killed",
    loss: "Trials end at once, without a last checkpoint.",
    path: "/api/v1/experiments/{id}/kill",
  },
  { label: "Archive", done: "archived", path: "/api/v1/experiments/{id}/archive" },
  { label: "Unarchive", done: "unarchived", path: "/api/v1/experiments/{id}/unarchive" },
];

/** One after the other, so that many do not crowd out others' calls; what was refused is told. */
async function doAll(ids: readonly number[], action: Action): Promise<string> {
  const refused: string[] = [];
  for (const id of ids) {
    try {
      await api.POST(action.path, { params: { path: { id } } });
    } catch (error) {
      refused.push(error instanceof Error ? error.message : String(error));
    }
  }
  const done = `${ids.length - refused.length} ${action.done}`;
  return refused.length > 0 ? `${done}; ${refused.length} refused: ${refused[0] ?? ""}` : done;
}

interface Props {
  selected: ReadonlySet<number>;
  rows: readonly Row[];
  isRuns: boolean;
  onClear: () => void;
  /** Runs themselves, or the best of the experiments. */
  onCompare: (trials: readonly number[]) => void;
}

/** What can be done with the selected rows, at the table's foot. */
export function BulkBar({ selected, rows, isRuns, onClear, onCompare }: Props) {
  const client = useQueryClient();
  const [said, setSaid] = useState("");
  const [isBusy, setBusy] = useState(false);
  const ids = [...selected];
  const trials = isRuns
    ? ids
    : rows.map((row) => row.experiment?.bestTrialId ?? 0).filter((id) => id > 0);
  const act = async (action: Action) => {
    const what = `${ids.length} ${ids.length === 1 ? "experiment" : "experiments"}`;
    if (action.loss && !confirm(`${action.label} ${what}? ${action.loss}`)) return;
    setBusy(true);
    setSaid(await doAll(ids, action));
    setBusy(false);
    await client.invalidateQueries({ queryKey: ROWS_KEY });
  };
  return (
    <div className={styles.bulk} role="toolbar" aria-label="Selected rows">
      <strong>{ids.length} selected</strong>
      {!isRuns &&
        ACTIONS.map((action) => (
          <button
            key={action.label}
            type="button"
            disabled={isBusy}
            onClick={() => void act(action)}
          >
            {action.label}
          </button>
        ))}
      {trials.length > 0 && (
        <button type="button" onClick={() => onCompare(trials)}>
          Compare {trials.length} {trials.length === 1 ? "trial" : "trials"}
        </button>
      )}
      <button type="button" className="plain" onClick={onClear}>
        Clear
      </button>
      <span role="status">{said}</span>
    </div>
  );
}
