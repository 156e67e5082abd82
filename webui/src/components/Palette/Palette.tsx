import { useCallback, useId, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { useOverview } from "@/api/useOverview";
import { useNavItems } from "../Frame/useNavItems";
import { findEntries } from "./entries";
import { usePaletteEntries } from "./usePaletteEntries";
import { useShortcuts } from "./useShortcuts";
import styles from "./Palette.module.css";

/** The palette: opens a page, experiment, workspace or model by a few letters. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const overview = useOverview();
  const navigate = useNavigate();
  const list = useId();
  const [wasOpened, setWasOpened] = useState(false);
  const extraEntries = usePaletteEntries(wasOpened);
  const entries = findEntries(query, overview, useNavItems(), extraEntries);
  const open = useCallback(() => {
    setQuery("");
    setChosen(0);
    setWasOpened(true);
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  useShortcuts(open);

  const go = (to: string | undefined) => {
    if (to === undefined) return;
    dialog.current?.close();
    void navigate(to);
  };
  const press = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") go(entries[chosen]?.to);
    else if (step) setChosen((chosen + step + entries.length) % Math.max(1, entries.length));
    else return;
    event.preventDefault();
  };
  return (
    <>
      <button type="button" className={styles.button} onClick={open}>
        Go to… <kbd>Ctrl K</kbd>
      </button>
      <dialog ref={dialog} className={styles.dialog} aria-label="Go to" closedby="any">
        <input
          role="combobox"
          aria-label="Page, experiment, workspace or model"
          aria-expanded
          aria-controls={list}
          aria-activedescendant={entries.length > 0 ? `${list}-${chosen}` : undefined}
          placeholder="Page, experiment name or ID, workspace, model"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setChosen(0);
          }}
          onKeyDown={press}
        />
        <ul id={list} role="listbox" aria-label="Results">
          {entries.map(({ to, label, hint }, i) => (
            <li
              key={to}
              id={`${list}-${i}`}
              role="option"
              aria-selected={i === chosen}
              onClick={() => go(to)}
              onMouseMove={() => setChosen(i)}
            >
              <span>{label}</span>
              <span className={styles.hint}>{hint}</span>
            </li>
          ))}
        </ul>
        {entries.length === 0 && <p className={styles.none}>No results.</p>}
      </dialog>
    </>
  );
}
