import { useEffect, useState, type SyntheticEvent } from "react";
import type { FilterError } from "@/components/table/filter";
import type { TableView } from "@/components/table/view";
import styles from "./Experiments.module.css";

interface Props {
  view: TableView;
  onView: (view: TableView) => void;
  error: FilterError | undefined;
  columns: readonly string[];
}

/** The filter text and a search of names; both apply on Enter or blur. */
export function FilterBar({ view, onView, error, columns }: Props) {
  const [sentence, setSentence] = useState(view.filter);
  const [text, setText] = useState(view.text);
  useEffect(() => setSentence(view.filter), [view.filter]);
  useEffect(() => setText(view.text), [view.text]);
  const apply = (event?: SyntheticEvent) => {
    event?.preventDefault();
    if (sentence !== view.filter || text !== view.text) onView({ ...view, filter: sentence, text });
  };
  return (
    <form className={styles.filter} onSubmit={apply} onBlur={() => apply()}>
      <input
        type="search"
        aria-label="Search names, descriptions and labels"
        placeholder="Search"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <input
        className={styles.sentence}
        aria-label="Filter"
        aria-invalid={error !== undefined}
        aria-describedby="filter-error"
        placeholder="state is running and lr < 0.01"
        list="filter-columns"
        spellCheck={false}
        value={sentence}
        onChange={(event) => setSentence(event.target.value)}
      />
      <datalist id="filter-columns">
        {columns.slice(0, 200).map((column) => (
          <option key={column} value={column} />
        ))}
      </datalist>
      <button type="submit" className="visually-hidden">
        Filter
      </button>
      <p id="filter-error" role="status" className={styles.error}>
        {error && `${error.message} (character ${error.at + 1})`}
      </p>
    </form>
  );
}
