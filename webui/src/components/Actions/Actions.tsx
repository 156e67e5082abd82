import { useMutation } from "@tanstack/react-query";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import styles from "./Actions.module.css";

/** Something that can be done to a thing. */
export interface Action {
  label: string;
  /** Does it, or asks for more. What it throws is shown. */
  run: () => unknown;
  /** Asked before; says what will be lost. */
  confirm?: string;
  /** Why it cannot be done (now): the button stays and says so. */
  refused?: string | false | undefined;
  isPrimary?: boolean;
}

interface Props {
  actions: readonly (Action | false | undefined)[];
  /** In a row of a table: no push to the right. */
  isInline?: boolean;
}

/** Buttons, and what was refused. */
export function Actions({ actions, isInline = false }: Props) {
  const act = useMutation({
    // A run that throws at once has failed, too.
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
