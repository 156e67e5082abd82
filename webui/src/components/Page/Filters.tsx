import styles from "./Page.module.css";
import { useParam } from "./useParam";

/** A text that rows must contain; the address keeps it. */
export function SearchBox({ label }: { label: string }) {
  const [text, setText] = useParam("q");
  return (
    <input
      type="search"
      className={styles.search}
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}

/** Whether something is shown that is not by itself; the address keeps it. */
export function ParamCheck({ name, label }: { name: string; label: string }) {
  const [text, setText] = useParam(name);
  return (
    <label className={styles.check}>
      <input
        type="checkbox"
        checked={text === "yes"}
        onChange={(event) => setText(event.target.checked ? "yes" : "")}
      />{" "}
      {label}
    </label>
  );
}

/** How many there are. */
export function Count({ children }: { children: React.ReactNode }) {
  return (
    <span className={styles.count} role="status">
      {children}
    </span>
  );
}

/** Whether one of the texts contains another, in any case. */
export function hasText(wanted: string, ...texts: (string | undefined)[]): boolean {
  return texts.some((text) => text?.toLowerCase().includes(wanted.trim().toLowerCase()));
}
