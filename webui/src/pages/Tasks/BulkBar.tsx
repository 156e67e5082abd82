import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { hasEnded, killTask, type Task } from "@/api/tasks";
import { usePermissions } from "@/api/usePermissions";
import { RequestId } from "@/components/ErrorPanel/RequestId";
import { explainKillRefusal, KILL_LOSS } from "@/components/Tasks/useTaskActions";
import { formatCount } from "@/text";
import styles from "./Tasks.module.css";
import { TASKS_KEY } from "./useTasks";

interface Props {
  selected: readonly Task[];
  /** Selects all tasks of the list. */
  onAll: () => void;
  /** The number of tasks in the list. */
  found: number;
  onClear: () => void;
}

/** Kills the selected tasks, and says what became of the last action. */
export function BulkBar({ selected, found, onAll, onClear }: Props) {
  const client = useQueryClient();
  const permissions = usePermissions();
  const [outcome, setOutcome] = useState<{ words: string; error?: unknown }>();
  const [isBusy, setBusy] = useState(false);
  const alive = selected.filter(({ state }) => !hasEnded(state));
  const chosen = alive.filter((task) => !explainKillRefusal(permissions, task));
  const ended = selected.length - alive.length;
  const skipped = [
    ended > 0 && `${ended} ended`,
    alive.length > chosen.length && `${alive.length - chosen.length} without permission`,
  ].filter(Boolean);
  const kill = async () => {
    if (!confirm(`Kill ${formatCount(chosen.length, "task")}? ${KILL_LOSS}`)) return;
    setBusy(true);
    const results = await Promise.allSettled(chosen.map(({ kind, id }) => killTask(kind, id)));
    const failed = results.filter((each) => each.status === "rejected");
    const error: unknown = failed[0]?.reason;
    const words = [
      `${chosen.length - failed.length} killed`,
      failed.length > 0 &&
        `${failed.length} refused: ${error instanceof Error ? error.message : String(error)}`,
      skipped.length > 0 && `skipped: ${skipped.join(", ")}`,
    ];
    setOutcome({ words: words.filter(Boolean).join("; "), error });
    setBusy(false);
    await client.invalidateQueries({ queryKey: TASKS_KEY });
  };
  const clear = () => {
    setOutcome(undefined);
    onClear();
  };
  if (selected.length === 0 && !outcome) return null;
  return (
    <div className={styles.bulk} role="toolbar" aria-label="Selected rows">
      {selected.length > 0 && (
        <>
          <strong>{selected.length.toLocaleString("en")} selected</strong>
          {selected.length < found && (
            <button type="button" disabled={isBusy} onClick={onAll}>
              Select all {found.toLocaleString("en")} matching rows
            </button>
          )}
          <button
            type="button"
            disabled={isBusy || chosen.length === 0}
            title={skipped.length > 0 ? `Skipped: ${skipped.join(", ")}` : undefined}
            onClick={() => void kill()}
          >
            Kill
          </button>
        </>
      )}
      <button type="button" className="plain" onClick={clear}>
        Clear
      </button>
      <span role="status">
        {outcome?.words}
        {outcome?.error !== undefined && (
          <>
            {" "}
            <RequestId error={outcome.error} />
          </>
        )}
      </span>
    </div>
  );
}
