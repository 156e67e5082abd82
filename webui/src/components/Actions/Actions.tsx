import { useMutation } from "@tanstack/react-query";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import styles from "./Actions.module.css";

/** An action on an object. */
export interface Action {
  label: string;
  /** Performs the action or opens a dialog. A thrown error is shown. */
  run: () => unknown;
  /** Confirmation that names what will be lost. */
  confirm?: string;
  /** Why the action is disabled; shown as the button's tooltip. */
  refused?: string | false | undefined;
  isPrimary?: boolean;
}

interface Props {
  actions: readonly (Action | false | undefined)[];
  /** Inside a table row: not pushed to the right. */
  isInline?: boolean;
}

/** Buttons for actions, and the error of the last one. */
export function Actions({ actions, isInline = false }: Props) {
  const act = useMutation({
    // An exception from a synchronous run is an error, too.
    mutationFn: (action: Action) => Promise.resolve().then(action.run),
  });
  const press = (action: Action) => {
    if (action.refused || act.isPending) return;
    if (action.confirm === undefined || confirm(action.confirm)) act.mutate(action);
  };
  return (
    <>
      <div className={`${styles.actions} ${isInline ? "" : styles.push}`}>
        {actions
          .filter((action) => action !== false && action !== undefined)
          .map((action) => (
            <button
              key={action.label}
              type="button"
              className={action.isPrimary ? "primary" : ""}
              aria-disabled={Boolean(action.refused)}
              title={action.refused || undefined}
              onClick={() => press(action)}
            >
              {action.label}
            </button>
          ))}
      </div>
      {act.error && (
        <div className={styles.error}>
          <ErrorPanel error={act.error} />
        </div>
      )}
    </>
  );
}
