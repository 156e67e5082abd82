import { useRef, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useProjectChoices } from "@/api/useProjectChoices";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { RequestId } from "@/components/ErrorPanel/RequestId";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { useOpenTensorboard } from "@/components/Tasks/useOpenTensorboard";
import { formatCount } from "@/text";
import { selectFor } from "./applicable";
import { ACTIONS, runAction, moveTo, type Action, type Outcome, type Target } from "./bulk";
import { getNoun, type Kind, type Row } from "./rows";
import { ROWS_KEY } from "./useRows";
import styles from "./Experiments.module.css";

interface Props {
  selected: ReadonlySet<number>;
  rows: readonly Row[];
  kind: Kind;
  /** The number of rows that match, and the callback that selects all of them. */
  found: number;
  onAll: () => Promise<void>;
  onClear: () => void;
  /** Whether the table does not show archived rows. */
  hidesArchived?: boolean;
  /** Called with rows that are no longer in the table. */
  onGone: (ids: readonly number[]) => void;
  /** Called with the selected trials, or the best trials of the selected experiments. */
  onCompare: (trials: readonly number[]) => void;
}

/** Bulk actions for the selected rows, and the outcome of the last one. */
export function BulkBar(props: Props) {
  const { selected, rows, kind, found, onAll, onClear, onGone, onCompare, hidesArchived } = props;
  const client = useQueryClient();
  const [outcome, setOutcome] = useState<Outcome>();
  const [isBusy, setBusy] = useState(false);
  const ids = [...selected];
  const isRuns = kind === "runs";
  const trials = isRuns
    ? ids
    : rows.map((row) => row.experiment?.bestTrialId ?? 0).filter((id) => id > 0);
  const [isMoving, setMoving] = useState(false);
  // Remember moved rows: the table is refetched later, and a project's table loses them.
  const moved = useRef(new Map<number, number>());
  // The master refuses rows that the caller cannot edit.
  const permissions = usePermissions();
  const refused = explainRefusal(permissions, "UPDATE_EXPERIMENT");
  const cannotRead = explainRefusal(permissions, "VIEW_EXPERIMENT_ARTIFACTS");
  const openTensorboard = useOpenTensorboard();
  const isOff = isBusy || Boolean(refused);
  const act = async (action: Action) => {
    const { ids: chosen, skipped, reasons } = selectFor(action.verb, ids, rows);
    const all = formatCount(ids.length, getNoun(kind));
    const what = skipped > 0 ? `${chosen.length.toLocaleString("en")} of ${all}` : all;
    const isAsked = action.loss !== undefined || chosen.length > MANY;
    const question = [`${action.label} ${what}?`, action.loss].filter(Boolean).join(" ");
    if (isAsked && !confirm(question)) return;
    setBusy(true);
    const next = await runAction(
      toTargets(chosen, rows, moved.current),
      action,
      skipped > 0 ? `${skipped.toLocaleString("en")} skipped: ${reasons}` : "",
    );
    for (const id of action.destination ? next.done : [])
      moved.current.set(id, action.destination ?? 0);
    setOutcome(next);
    setBusy(false);
    if (action.isEnd || (action.verb === "archive" && hidesArchived)) onGone(next.done);
    await client.invalidateQueries({ queryKey: ROWS_KEY });
  };
  const selectAll = async () => {
    setBusy(true);
    try {
      await onAll();
      setOutcome(undefined);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      setOutcome({ done: [], words: `Cannot select all rows: ${why}`, error });
    }
    setBusy(false);
  };
  const showInTensorboard = async () => {
    setBusy(true);
    const [first] = rows;
    const workspaceId = first?.experiment?.workspaceId ?? first?.run?.workspaceId;
    try {
      await openTensorboard({ [isRuns ? "trialIds" : "experimentIds"]: ids, workspaceId });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      setOutcome({ done: [], words: `Cannot open TensorBoard: ${why}`, error });
    }
    setBusy(false);
  };
  const clear = () => {
    moved.current.clear();
    setOutcome(undefined);
    onClear();
  };
  const hasPoints = ids.length > 0;
  if (!hasPoints && !outcome) return null;
  return (
    <div className={styles.bulk} role="toolbar" aria-label="Selected rows">
      {hasPoints && <strong>{ids.length.toLocaleString("en")} selected</strong>}
      {hasPoints && ids.length < found && (
        <button type="button" disabled={isBusy} onClick={() => void selectAll()}>
          Select all {found.toLocaleString("en")} matching rows
        </button>
      )}
      {hasPoints &&
        [...ACTIONS[kind], MOVE].map((action) => {
          const { ids: chosen, reasons } = selectFor(action.verb, ids, rows);
          const isNone = chosen.length === 0;
          return (
            <button
              key={action.label}
              type="button"
              disabled={isOff || isNone}
              title={refused || explainSkipped(action.label, isNone, reasons)}
              onClick={() => ("send" in action ? void act(action) : setMoving(true))}
            >
              {action.label}
            </button>
          );
        })}
      {isMoving && (
        <Move
          kind={kind}
          count={selectFor("move", ids, rows).ids.length}
          onMove={(action) => act(action)}
          onClose={() => setMoving(false)}
        />
      )}
      {trials.length > 0 && (
        <button type="button" onClick={() => onCompare(trials)}>
          Compare {formatCount(trials.length, "trial")}
        </button>
      )}
      {hasPoints && (
        <button
          type="button"
          disabled={isBusy || Boolean(cannotRead)}
          title={cannotRead || undefined}
          onClick={() => void showInTensorboard()}
        >
          Open TensorBoard
        </button>
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

const MOVE = { verb: "move", label: "Move" } as const;

function explainSkipped(label: string, isNone: boolean, reasons: string): string | undefined {
  if (!reasons) return undefined;
  return isNone ? `${label} does not apply: ${reasons}` : `Skipped: ${reasons}`;
}

// From this number on, every action asks for confirmation.
const MANY = 50;

/** `moved` has the new projects of moved rows. */
function toTargets(
  ids: readonly number[],
  rows: readonly Row[],
  moved: ReadonlyMap<number, number>,
): Target[] {
  const projects = new Map(rows.map(({ id, experiment }) => [id, experiment?.projectId ?? 0]));
  return ids.map((id) => ({ id, project: moved.get(id) ?? projects.get(id) ?? 0 }));
}

interface MoveProps {
  kind: Kind;
  count: number;
  onMove: (action: Action) => Promise<void>;
  onClose: () => void;
}

/** Asks for the destination project. */
function Move({ kind, count, onMove, onClose }: MoveProps) {
  const choices = useProjectChoices();
  if (!choices) return null;
  const { options, problem } = choices;
  return (
    <FormDialog
      title={`Move ${formatCount(count, getNoun(kind))}`}
      problem={problem}
      verb="Move"
      onClose={onClose}
      fields={[
        {
          name: "project",
          label: "Destination project",
          type: "choice",
          required: true,
          options,
          value: options[0]?.[0],
          hint: "Projects that you can edit",
        },
      ]}
      onSubmit={({ project }) => onMove(moveTo(kind, Number(project)))}
    />
  );
}
