import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api } from "@/api/client";
import { paths } from "@/paths";
import type { Row } from "./rows";
import styles from "./Experiments.module.css";

interface Action {
  label: string;
  /** In the past, for what is said after it. */
  done: string;
  path: `/api/v1/experiments/{id}/${"pause" | "activate" | "cancel" | "kill" | "archive" | "unarchive"}`;
}

const ACTIONS: Action[] = [
  { label: "Pause", done: "paused", path: "/api/v1/experiments/{id}/pause" },
  { label: "Activate", done: "activated", path: "/api/v1/experiments/{id}/activate" },
  { label: "Cancel", done: "canceled", path: "/api/v1/experiments/{id}/cancel" },
  { label: "Kill", done: "killed", path: "/api/v1/experiments/{id}/kill" },
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
}

/** What can be done with the selected rows, at the table's foot. */
export function BulkBar({ selected, rows, isRuns, onClear }: Props) {
  const client = useQueryClient();
  const [said, setSaid] = useState("");
  const [isBusy, setBusy] = useState(false);
  const ids = [...selected];
  const trials = isRuns
    ? ids
    : rows.map((row) => row.experiment?.bestTrialId ?? 0).filter((id) => id > 0);
  const act = async (action: Action) => {
    setBusy(true);
    setSaid(await doAll(ids, action));
    setBusy(false);
    await client.invalidateQueries({ queryKey: ["experiments", "rows"] });
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
      {trials.length > 0 && <Link to={paths.compare(trials)}>Compare {trials.length} trials</Link>}
      <button type="button" className="plain" onClick={onClear}>
        Clear
      </button>
      <span role="status">{said}</span>
    </div>
  );
}
