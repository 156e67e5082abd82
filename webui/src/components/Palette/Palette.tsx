import { useCallback, useEffect, useId, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { useOverview } from "@/api/useOverview";
import { useNavItems } from "../Frame/useNavItems";
import { findEntries, type Entry } from "./entries";
import { usePaletteEntries } from "./usePaletteEntries";
import { usePaletteSearch } from "./usePaletteSearch";
import { useShortcuts } from "./useShortcuts";
import { useLatest } from "@/useLatest";
import styles from "./Palette.module.css";

/** The palette: opens a page or any object of the cluster by a few letters of its name, or by its ID. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [query, setQuery] = useState("");
  // The target of the chosen entry, which stays chosen when others are found; the first entry if undefined.
  const [chosenTo, setChosenTo] = useState<string>();
  // Enter was pressed before the search had ended: open its first result.
  const [isWaiting, setWaiting] = useState(false);
  const overview = useOverview();
  const navigate = useNavigate();
  const list = useId();
  const { entries: found, error, isSearching } = usePaletteSearch(query);
  const [wasOpened, setWasOpened] = useState(false);
  const others = usePaletteEntries(wasOpened);
  const entries = findEntries(query, overview, useNavItems(), others, found);
  const chosen = Math.max(
    0,
    entries.findIndex(({ to }) => to === chosenTo),
  );
  const change = useCallback((text: string) => {
    setQuery(text);
    setChosenTo(undefined);
    setWaiting(false);
  }, []);
  const open = useCallback(() => {
    change("");
    setWasOpened(true);
    if (!dialog.current?.open) dialog.current?.showModal();
  }, [change]);
  useShortcuts(open);

  const go = (to: string | undefined) => {
    if (to === undefined) return;
    dialog.current?.close();
    void navigate(to);
  };
  const first = entries[0]?.to;
  const isDone = isWaiting && !isSearching;
  const latestGo = useLatest(go);
  useEffect(() => {
    if (!isDone) return;
    setWaiting(false);
    latestGo.current(first);
  }, [isDone, first, latestGo]);
  const chosenItem = useRef<HTMLLIElement>(null);
  useEffect(() => {
    chosenItem.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const press = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isChosen = chosenTo !== undefined || isPage(entries[0], query);
    if (event.key === "Enter" && isSearching && !isChosen) setWaiting(true);
    else if (event.key === "Enter") go(entries[chosen]?.to);
    else if (step) {
      setWaiting(false);
      setChosenTo(entries[(chosen + step + entries.length) % Math.max(1, entries.length)]?.to);
    } else return;
    event.preventDefault();
  };
  return (
    <>
      <button type="button" className={styles.button} onClick={open}>
        Go to… <kbd>Ctrl K</kbd>
      </button>
      <dialog
        ref={dialog}
        className={styles.dialog}
        aria-label="Go to"
        closedby="any"
        onClose={() => setWaiting(false)}
      >
        <input
          role="combobox"
          aria-label="Page, experiment, trial, model, user, project or workspace"
          aria-expanded
          aria-controls={list}
          aria-activedescendant={entries.length > 0 ? `${list}-${chosen}` : undefined}
          placeholder="Page, name, or ID of an experiment or trial"
          value={query}
          onChange={(event) => change(event.target.value)}
          onKeyDown={press}
        />
        <ul
          id={list}
          role="listbox"
          aria-label="Results"
          aria-busy={isSearching}
          data-query={query}
        >
          {entries.map(({ to, label, hint }, i) => (
            <li
              key={to}
              id={`${list}-${i}`}
              ref={i === chosen ? chosenItem : null}
              role="option"
              aria-selected={i === chosen}
              onClick={() => go(to)}
              onMouseMove={() => setChosenTo(to)}
            >
              <span className={styles.label}>{label}</span>
              <span className={styles.hint}>{hint}</span>
            </li>
          ))}
        </ul>
        <p className={styles.none} role="status">
          {isSearching
            ? "Searching…"
            : entries.length === 0 && error === undefined && "No results."}
          {error !== undefined && `The search is incomplete: ${toMessage(error)}`}
        </p>
      </dialog>
    </>
  );
}

/** Whether an entry is a page whose name begins with the query: no search finds a better one. */
const isPage = (entry: Entry | undefined, query: string) =>
  entry?.hint === "page" && entry.label.toLowerCase().startsWith(query.trim().toLowerCase());

const toMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));
