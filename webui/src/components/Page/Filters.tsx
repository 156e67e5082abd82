import styles from "./Page.module.css";
import { useParam } from "./useParam";

/** A text filter for rows; the address keeps it. */
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

/** A checkbox whose state the address keeps. */
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

/** A choice that the address keeps; the first option shows all rows. */
export function ParamSelect({
  name,
  label,
  options,
}: {
  name: string;
  label: string;
  options: readonly (readonly [value: string, label: string])[];
}) {
  const [value, setValue] = useParam(name);
  const isKnown = options.some(([each]) => each === value);
  return (
    <select
      className={styles.select}
      aria-label={label}
      value={value}
      onChange={(event) => setValue(event.target.value)}
    >
      {options.map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
      {!isKnown && <option value={value}>{value}</option>}
    </select>
  );
}

/** The number of rows. */
export function Count({ children }: { children: React.ReactNode }) {
  return (
    <span className={styles.count} role="status">
      {children}
    </span>
  );
}

/** Whether one of the texts contains another, ignoring case. */
export function hasText(searched: string, ...texts: (string | undefined)[]): boolean {
  return texts.some((text) => text?.toLowerCase().includes(searched.trim().toLowerCase()));
}
