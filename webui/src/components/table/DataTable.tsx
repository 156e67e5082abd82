import { useEffect, useLayoutEffect, useRef, type ReactNode } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import styles from "./DataTable.module.css";
import { Head } from "./Head";
import { moveColumn, toggleSort, type TableColumn, type TableView } from "./view";

/** A cell's content and, if it is coloured by value, its colours. */
export interface Cell {
  content: ReactNode;
  background?: string | undefined;
  colour?: string | undefined;
  /** What the colour means. */
  title?: string | undefined;
}

interface Props<Row, Id> {
  /** The table's name for screen readers. */
  label: string;
  columns: readonly TableColumn[];
  /** The total number of rows; only those near the visible ones are requested. */
  count: number;
  /** A row by index from 0; undefined while it is loading. */
  rowAt: (index: number) => Row | undefined;
  getId: (row: Row) => Id;
  /** The name of a row's checkbox; default: with its ID. */
  getLabel?: (row: Row) => string;
  renderCell: (row: Row, column: string) => Cell;
  /** Whether the rows are those of the previous search, until the next ones are loaded. */
  isPrevious?: boolean;
  /** Reports the visible rows, excluding `to`. */
  onRange: (from: number, to: number) => void;
  view: TableView;
  onView: (view: TableView) => void;
  selected: ReadonlySet<Id>;
  onSelect: (selected: ReadonlySet<Id>) => void;
}

// The same as the tokens --row and --compact-row.
const ROW = 32;
const COMPACT_ROW = 28;
const BOX = 36;
// The share of the width that pinned columns may take.
const MAX_PINNED = 0.6;

/** A virtualized table of any length with a fixed head and pinned columns. */
export function DataTable<Row, Id extends string | number = number>(props: Props<Row, Id>) {
  const {
    columns,
    count,
    rowAt,
    getId,
    getLabel,
    renderCell,
    onRange,
    view,
    onView,
    selected,
    onSelect,
  } = props;
  const container = useRef<HTMLDivElement>(null);
  const { isCompact } = view;
  const height = isCompact ? COMPACT_ROW : ROW;
  const lines = useVirtualizer({
    count,
    getScrollElement: () => container.current,
    estimateSize: () => height,
    overscan: 12,
    initialRect: { width: 1000, height: 600 },
  });
  useLayoutEffect(() => lines.measure(), [lines, height]);
  const shown = lines.getVirtualItems();
  const from = shown[0]?.index ?? 0;
  const to = (shown[shown.length - 1]?.index ?? 49) + 1;
  useEffect(() => onRange(from, to), [onRange, from, to]);

  const widths = columns.map((column) => view.widths[column.name] ?? column.width);
  const lefts = widths.map(
    (_, i) => BOX + widths.slice(0, i).reduce((sum, width) => sum + width, 0),
  );
  const total = BOX + widths.reduce((sum, width) => sum + width, 0);
  // On a narrow screen, pinned columns leave room for the others.
  const maxRight = (lines.scrollRect?.width ?? Infinity) * MAX_PINNED;
  const isPinned = (i: number) =>
    i < view.pinned && (lefts[i] ?? 0) + (widths[i] ?? 0) <= Math.max(maxRight, BOX);
  const pinStyle = (i: number) =>
    isPinned(i) ? ({ left: lefts[i], position: "sticky" } as const) : {};
  const pin = (i: number) => (isPinned(i) ? styles.pinned : "");

  const toggle = (id: Id) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onSelect(next);
  };
  // The visible rows, without overscan rows and rows behind the head.
  const getVisibleRows = () => {
    const top = lines.scrollOffset ?? 0;
    const bottom = top + (lines.scrollRect?.height ?? 0) - height;
    return shown
      .filter(({ start, end }) => end > top && start < bottom)
      .map(({ index }) => rowAt(index))
      .filter((row) => row !== undefined);
  };
  const areAll =
    getVisibleRows().length > 0 && getVisibleRows().every((row) => selected.has(getId(row)));

  return (
    <div
      ref={container}
      className={`${styles.container} ${isCompact ? styles.compact : ""}`}
      role="table"
      aria-label={props.label}
      aria-rowcount={count + 1}
      aria-busy={props.isPrevious ?? false}
      tabIndex={0}
    >
      <div className={styles.head} role="row" style={{ width: total }}>
        <div className={`${styles.box} ${styles.pinned}`} role="columnheader">
          <input
            type="checkbox"
            aria-label="Select visible rows"
            checked={areAll}
            onChange={() =>
              onSelect(new Set(areAll ? [] : [...selected, ...getVisibleRows().map(getId)]))
            }
          />
        </div>
        {columns.map((column, i) => (
          <Head
            key={column.name}
            column={column}
            width={widths[i] ?? column.width}
            className={pin(i) ?? ""}
            style={pinStyle(i)}
            sort={view.sort}
            onSort={(isAdded) =>
              onView({ ...view, sort: toggleSort(view.sort, column.name, isAdded) })
            }
            onMove={(name) =>
              onView({ ...view, columns: moveColumn(view.columns, name, column.name) })
            }
            onResize={(width) =>
              onView({ ...view, widths: { ...view.widths, [column.name]: width } })
            }
          />
        ))}
      </div>
      <div
        className={styles.body}
        role="rowgroup"
        style={{ width: total, height: lines.getTotalSize() }}
      >
        {shown.map(({ index, start }) => {
          const row = rowAt(index);
          const isSelected = row !== undefined && selected.has(getId(row));
          return (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={isSelected}
              className={`${styles.row} ${isSelected ? styles.selected : ""}`}
              style={{ transform: `translateY(${start}px)`, width: total }}
            >
              <div className={`${styles.box} ${styles.pinned}`} role="cell">
                {row && (
                  <input
                    type="checkbox"
                    aria-label={`Select ${getLabel?.(row) ?? getId(row)}`}
                    checked={isSelected}
                    onChange={() => toggle(getId(row))}
                  />
                )}
              </div>
              {columns.map((column, i) => {
                const cell = row && renderCell(row, column.name);
                return (
                  <div
                    key={column.name}
                    role="cell"
                    className={`${styles.cell} ${column.isNumber ? styles.number : ""} ${pin(i)}`}
                    title={cell?.title || undefined}
                    style={{
                      width: widths[i],
                      ...pinStyle(i),
                      ...(cell?.background && { background: cell.background, color: cell.colour }),
                    }}
                  >
                    {cell ? cell.content : <span className={styles.skeleton} />}
                  </div>
                );
              })}
            </div>
          );
        })}
      </div>
    </div>
  );
}
