import { Fragment, useEffect, useState, type SyntheticEvent } from "react";
import type { FilterError } from "@/components/table/filter";
import { quoted } from "@/components/table/sentence";
import type { TableView } from "@/components/table/view";
import styles from "./Experiments.module.css";

interface Props {
  view: TableView;
  onView: (view: TableView) => void;
  isInvalid: boolean;
  /** Suggested column names, and an example of a filter. */
  columns: readonly string[];
  example: string;
}

/** The filter text and a search of names; both apply on Enter or blur. */
export function FilterBar({ view, onView, isInvalid, columns, example }: Props) {
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
        placeholder="Name or label"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <input
        className={styles.sentence}
        aria-label="Filter"
        aria-invalid={isInvalid}
        aria-describedby="filter-error"
        placeholder={example}
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
    </form>
  );
}

interface StatusProps {
  /** The filter text, and what is wrong with it. */
  sentence: string;
  error: FilterError | undefined;
  onSentence: (sentence: string) => void;
  /** The number of rows; empty while it is unknown. */
  count: string;
}

/**
 * The number of rows, or the error of the filter in its place: the page does not move. Columns that may have been
 * meant replace the wrong one by a click.
 */
export function FilterStatus({ sentence, error, onSentence, count }: StatusProps) {
  if (!error) {
    return (
      <p className={styles.count} role="status">
        {count}
      </p>
    );
  }
  const { message, at, end, choices } = error;
  const use = (choice: string) =>
    onSentence(sentence.slice(0, at) + quoted(choice) + sentence.slice(end));
  return (
    <p id="filter-error" role="status" className={styles.error}>
      {choices.length > 0 ? `${message}. Did you mean ` : `${message} (character ${at + 1})`}
      {choices.map((choice, i) => (
        <Fragment key={choice}>
          {i > 0 && (i + 1 < choices.length ? ", " : " or ")}
          <button type="button" className={styles.choice} onClick={() => use(choice)}>
            {choice}
          </button>
        </Fragment>
      ))}
      {choices.length > 0 && "?"}
    </p>
  );
}
