import { useEffect, useState, type SyntheticEvent } from "react";
import { LEVELS, type LogFilters } from "./filters";
import styles from "./LogView.module.css";

interface Props {
  filters: LogFilters;
  onFilters: (filters: LogFilters) => void;
}

/** The filters of a log; text fields apply on Enter, choices at once. */
export function FilterForm({ filters, onFilters }: Props) {
  const [draft, setDraft] = useState(filters);
  const name = JSON.stringify(filters);
  useEffect(() => setDraft(JSON.parse(name) as LogFilters), [name]);
  const apply = (event: SyntheticEvent) => {
    event.preventDefault();
    onFilters(draft);
  };
  const change = (part: Partial<LogFilters>) => setDraft({ ...draft, ...part });
  return (
    <form className={styles.filters} onSubmit={apply}>
      <label>
        Level{" "}
        <select
          value={filters.level}
          onChange={(e) => onFilters({ ...draft, level: e.target.value })}
        >
          <option value="">All</option>
          {LEVELS.slice(1).map((level) => (
            <option key={level} value={level}>
              {level.toLowerCase()} and above
            </option>
          ))}
        </select>
      </label>
      <label>
        Rank{" "}
        <input
          size={3}
          inputMode="numeric"
          pattern="[0-9]*"
          value={draft.rank}
          onChange={(e) => change({ rank: e.target.value })}
        />
      </label>
      <label>
        From{" "}
        <input
          type="datetime-local"
          step={1}
          value={draft.since}
          onChange={(e) => change({ since: e.target.value })}
        />
      </label>
      <label>
        To{" "}
        <input
          type="datetime-local"
          step={1}
          value={draft.until}
          onChange={(e) => change({ until: e.target.value })}
        />
      </label>
      <input
        type="search"
        className={styles.text}
        placeholder={draft.isPattern ? "Regular expression" : "Search text"}
        aria-label={draft.isPattern ? "Regular expression" : "Search text"}
        value={draft.text}
        onChange={(e) => change({ text: e.target.value })}
      />
      <label>
        <input
          type="checkbox"
          checked={draft.isPattern}
          onChange={(e) => change({ isPattern: e.target.checked })}
        />{" "}
        Regular expression
      </label>
      <button type="submit">Filter</button>
    </form>
  );
}
