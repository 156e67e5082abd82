import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useProjectChoices } from "@/api/useProjectChoices";
import { refusalOf, useRoles } from "@/api/useRoles";
import { RequestId } from "@/components/ErrorPanel/RequestId";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { counted } from "@/words";
import { ACTIONS, doAll, moveTo, type Action, type Outcome } from "./bulk";
import type { Kind, Row } from "./rows";
import { ROWS_KEY } from "./useRows";
import styles from "./Experiments.module.css";

interface Props {
  selected: ReadonlySet<number>;
  rows: readonly Row[];
  kind: Kind;
  onClear: () => void;
  /** These rows are no more: no action would find them. */
  onGone: (ids: readonly number[]) => void;
  /** Runs themselves, or the best of the experiments. */
  onCompare: (trials: readonly number[]) => void;
}

/** What can be done with the selected rows, at the table's foot; once they are gone, what was done. */
export function BulkBar({ selected, rows, kind, onClear, onGone, onCompare }: Props) {
  const client = useQueryClient();
  const [said, setSaid] = useState<Outcome>();
  const [isBusy, setBusy] = useState(false);
  const ids = [...selected];
  const isRuns = kind === "runs";
  const trials = isRuns
    ? ids
    : rows.map((row) => row.experiment?.bestTrialId ?? 0).filter((id) => id > 0);
  const [isMoving, setMoving] = useState(false);
  // Of those of which one may not, the master says so.
  const refused = refusalOf(useRoles(), "Editor");
  const isOff = isBusy || Boolean(refused);
  const act = async (action: Action) => {
    const what = counted(ids.length, nounOf(kind));
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
        ACTIONS[kind].map((action) => (
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
      {areSome && (
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
          kind={kind}
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

const nounOf = (kind: Kind) => (kind === "runs" ? "run" : "experiment");

interface MoveProps {
  kind: Kind;
  count: number;
  onMove: (action: Action) => Promise<void>;
  onClose: () => void;
}

/** Asks for the project that all of them go to. */
function Move({ kind, count, onMove, onClose }: MoveProps) {
  const choices = useProjectChoices();
  if (!choices) return null;
  const { options, problem } = choices;
  return (
    <FormDialog
      title={`Move ${counted(count, nounOf(kind))}`}
      problem={problem}
      verb="Move"
      onClose={onClose}
      fields={[
        {
          ...{ name: "project", label: "To project", type: "choice", required: true, options },
          ...{ value: options[0]?.[0], hint: "Those in which you are an Editor" },
        },
      ]}
      onSubmit={({ project }) => onMove(moveTo(kind, Number(project)))}
    />
  );
}
