import { useCallback, useRef } from "react";
import { useNavItems } from "../Frame/useNavItems";
import { useKey } from "./useShortcuts";
import styles from "./Palette.module.css";

const everywhere: [string[], string][] = [
  [["Ctrl K", "Cmd K", "/"], "Go to a page, experiment, trial, model or user"],
  [["?"], "Show keyboard shortcuts"],
  [["Esc"], "Close the open dialog, menu or drawer"],
];

const inTables: [string[], string][] = [
  [["Left", "Right"], "Resize the column whose edge has the focus"],
  [["Up", "Down"], "Move the queued job whose handle has the focus"],
];

function Keys({ rows }: { rows: [string[], string][] }) {
  return (
    <dl className={styles.keys}>
      {rows.map(([keys, what]) => (
        <div key={what}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The list of keyboard shortcuts, opened with `?`. */
export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  const navItems = useNavItems();
  useKey(
    "?",
    useCallback(() => {
      if (!dialog.current?.open) dialog.current?.showModal();
    }, []),
  );
  return (
    <dialog ref={dialog} className={styles.dialog} aria-label="Keyboard shortcuts" closedby="any">
      <div className={styles.overview}>
        <h2>General</h2>
        <Keys rows={everywhere} />
        <h2>Go to</h2>
        <Keys rows={navItems.map(({ key, label }) => [["g", key], label])} />
        <h2>Tables</h2>
        <Keys rows={inTables} />
        <form method="dialog">
          <button>Close</button>
        </form>
      </div>
    </dialog>
  );
}
