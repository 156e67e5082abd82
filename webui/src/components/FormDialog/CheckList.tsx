import { useState } from "react";
import styles from "./FormDialog.module.css";

export type Option = readonly [value: string, label: string];

interface Props {
  label: string;
  options: readonly Option[];
  /** The selected options, separated by commas. */
  value: string;
  onChange: (value: string) => void;
}

// From this number on, the options can be filtered.
const MANY = 8;

/** A list of checkboxes. */
export function CheckList({ label, options, value, onChange }: Props) {
  const [filter, setFilter] = useState("");
  const selected = new Set(value.split(",").filter(Boolean));
  const shown = options.filter(([, words]) =>
    words.toLowerCase().includes(filter.trim().toLowerCase()),
  );
  const change = (option: string, isChecked: boolean) => {
    if (isChecked) selected.add(option);
    else selected.delete(option);
    // In the order of the options, so that equal selections are equal texts.
    onChange(
      options
        .map(([each]) => each)
        .filter((each) => selected.has(each))
        .join(),
    );
  };
  return (
    <fieldset className={styles.checks}>
      <legend>
        {label} <span className={styles.hint}>({selected.size} selected)</span>
      </legend>
      {options.length >= MANY && (
        <input
          type="search"
          aria-label={`Filter ${label.toLowerCase()}`}
          placeholder="Filter"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      )}
      <div className={styles.options} tabIndex={-1}>
        {shown.map(([each, words]) => (
          <label key={each} className={styles.check}>
            <input
              type="checkbox"
              checked={selected.has(each)}
              onChange={(event) => change(each, event.target.checked)}
            />
            {words}
          </label>
        ))}
        {shown.length === 0 && (
          <span className={styles.hint}>
            {options.length === 0 ? "Nothing to select." : "No results."}
          </span>
        )}
      </div>
    </fieldset>
  );
}
