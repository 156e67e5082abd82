import { useState } from "react";
import { Popover } from "@/components/Popover/Popover";
import { moveColumn, type TableView } from "@/components/table/view";
import { Icon } from "@/components/Icon/Icon";
import type { Column } from "./useColumns";
import styles from "./Experiments.module.css";

const GROUPS: [string, (column: Column) => boolean][] = [
  [
    "General",
    (c) => c.location === "LOCATION_TYPE_EXPERIMENT" || c.location === "LOCATION_TYPE_RUN",
  ],
  ["Hyperparameters", (c) => c.column.startsWith("hp.")],
  ["Metrics", (c) => /\.(last|min|max|mean)$/.test(c.column) && !/^(hp|metadata)\./.test(c.column)],
  ["Metadata", (c) => c.column.startsWith("metadata.")],
];

interface Props {
  columns: readonly Column[];
  view: TableView;
  onView: (view: TableView) => void;
}

/** Selects, orders, pins and colours columns; usable by keyboard. */
export function ColumnPicker({ columns, view, onView }: Props) {
  const [text, setText] = useState("");
  const searched = text.toLowerCase();
  const fits = (column: Column) =>
    column.column.toLowerCase().includes(searched) ||
    column.displayName.toLowerCase().includes(searched);
  const toggle = (name: string) =>
    onView({
      ...view,
      columns: view.columns.includes(name)
        ? view.columns.filter((each) => each !== name)
        : [...view.columns, name],
    });
  const toggleHeat = (name: string) =>
    onView({
      ...view,
      heat: view.heat.includes(name)
        ? view.heat.filter((each) => each !== name)
        : [...view.heat, name],
    });
  const getName = (name: string) => columns.find((c) => c.column === name)?.displayName || name;
  return (
    <Popover label="Columns">
      <label>
        <input
          type="checkbox"
          checked={view.isCompact}
          onChange={(event) => onView({ ...view, isCompact: event.target.checked })}
        />{" "}
        Compact rows
      </label>
      <h2>Shown</h2>
      <ol className={styles.shown}>
        {view.columns.map((name, i) => (
          <li key={name}>
            <span>{getName(name)}</span>
            <button
              type="button"
              className="plain"
              aria-label={`Move ${name} left`}
              disabled={i === 0}
              onClick={() =>
                onView({
                  ...view,
                  columns: moveColumn(view.columns, name, view.columns[i - 1] ?? name),
                })
              }
            >
              <Icon name="up" />
            </button>
            <button
              type="button"
              className="plain"
              aria-pressed={i < view.pinned}
              title={
                i < view.pinned
                  ? "Unpin this column and those after it"
                  : "Pin the columns up to this one"
              }
              onClick={() => onView({ ...view, pinned: i < view.pinned ? i : i + 1 })}
            >
              {i < view.pinned ? "pinned" : "pin"}
            </button>
            {columns.find((c) => c.column === name)?.type === "COLUMN_TYPE_NUMBER" && (
              <button
                type="button"
                className="plain"
                aria-pressed={view.heat.includes(name)}
                onClick={() => toggleHeat(name)}
              >
                {view.heat.includes(name) ? "colored" : "color"}
              </button>
            )}
          </li>
        ))}
      </ol>
      <input
        type="search"
        placeholder="Search columns"
        aria-label="Search columns"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {GROUPS.map(([name, isIn]) => {
        const inside = columns.filter((column) => isIn(column) && fits(column));
        return inside.length === 0 ? null : (
          <fieldset key={name} className={styles.columnGroup}>
            <legend>{name}</legend>
            {inside.slice(0, 200).map((column) => (
              <label key={column.column} title={column.column}>
                <input
                  type="checkbox"
                  checked={view.columns.includes(column.column)}
                  onChange={() => toggle(column.column)}
                />{" "}
                {column.displayName || column.column}
              </label>
            ))}
          </fieldset>
        );
      })}
    </Popover>
  );
}
