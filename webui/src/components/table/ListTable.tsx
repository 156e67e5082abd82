import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Icon } from "../Icon/Icon";
import { useParam } from "../Page/useParam";
import styles from "./ListTable.module.css";

/** A column of a list. */
export interface ListColumn<Row> {
  head: string;
  cell: (row: Row) => ReactNode;
  /** The column's share of the width; default 1. */
  share?: number;
  /** The minimum width in pixels; default 112. */
  minWidth?: number;
  isNumber?: boolean;
  /** The sort key; a column without one cannot be sorted. */
  sortBy?: (row: Row) => string | number | boolean | undefined;
}

interface Props<Row> {
  /** The list's name for screen readers. */
  label: string;
  columns: readonly ListColumn<Row>[];
  rows: readonly Row[] | undefined;
  getId: (row: Row) => string | number;
  /** Called when the last row is visible: more may be read. */
  onEnd?: () => void;
  /** The page scrolls instead of the list, for several lists on a page. */
  isShort?: boolean;
  /** Shown instead of an empty list. */
  children?: ReactNode;
}

const ROW = 36;
const DEFAULT_WIDTH = 112;
const MAX_FIXED = "30vw";

const collator = new Intl.Collator("en", { numeric: true });

/** Sorts rows by a column; rows without a value come last in either order. */
export function sortRows<Row>(
  rows: readonly Row[],
  { sortBy }: ListColumn<Row>,
  isDescending: boolean,
): Row[] {
  if (!sortBy) return [...rows];
  const isNone = (row: Row) => (sortBy(row) ?? "") === "";
  const by = (a: Row, b: Row) => {
    if (isNone(a) || isNone(b)) return Number(isNone(a)) - Number(isNone(b));
    const order = collator.compare(String(sortBy(a)), String(sortBy(b)));
    return isDescending ? -order : order;
  };
  return [...rows].sort(by);
}

/**
 * A virtualized list of any length, sorted by the column in the address (`sort=Name`, `sort=-Name`).
 * Undefined rows are loading.
 */
export function ListTable<Row>(props: Props<Row>) {
  const { label, columns, rows, getId, onEnd, isShort = false, children } = props;
  const container = useRef<HTMLDivElement>(null);
  const [sort, setSort] = useParam("sort");
  const by = columns.find(({ head }) => head === sort.replace(/^-/, ""));
  const isDescending = sort.startsWith("-");
  const sorted = useMemo(
    () => (rows && by ? sortRows(rows, by, isDescending) : (rows ?? [])),
    [rows, by, isDescending],
  );
  const lines = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => container.current,
    estimateSize: () => ROW,
    overscan: 12,
    initialRect: { width: 1000, height: 600 },
  });
  const shown = lines.getVirtualItems();
  const last = shown[shown.length - 1]?.index ?? 0;
  const isAtEnd = sorted.length > 0 && last === sorted.length - 1;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd, sorted.length]);
  if (rows === undefined)
    return <div className={styles.skeleton} role="status" aria-label="Loading" />;
  if (rows.length === 0) return children;

  const widths = columns.map(({ minWidth = DEFAULT_WIDTH }) => `${minWidth}px`);
  // The first column stays in place: on a narrow screen, leave room for the others.
  widths[0] = `min(${widths[0]}, ${MAX_FIXED})`;
  const minWidth = `calc(${widths.join(" + ")})`;
  const grid = {
    gridTemplateColumns: columns
      .map((column, i) => `minmax(${widths[i]}, ${column.share ?? 1}fr)`)
      .join(" "),
    minWidth,
    width: "100%",
  };
  const align = (column: ListColumn<Row>) =>
    `${styles.cell} ${column.isNumber ? styles.number : ""}`;
  const order = (column: ListColumn<Row>) =>
    column !== by ? "none" : isDescending ? "descending" : "ascending";
  const next = { none: "", ascending: "-", descending: undefined };
  const click = (column: ListColumn<Row>) => {
    const sign = next[order(column)];
    setSort(sign === undefined ? "" : sign + column.head);
  };
  return (
    <div
      ref={container}
      className={`${styles.container} ${isShort ? styles.short : ""}`}
      role="table"
      aria-label={label}
      aria-rowcount={sorted.length + 1}
      tabIndex={0}
    >
      <div role="rowgroup" className={styles.head} style={grid}>
        <div role="row" style={{ display: "contents" }}>
          {columns.map((column) => (
            <div
              key={column.head}
              role="columnheader"
              className={align(column)}
              {...(column.sortBy && { "aria-sort": order(column) })}
            >
              {column.sortBy ? (
                <button type="button" onClick={() => click(column)}>
                  {column.head}
                  {column === by && (
                    <>
                      {" "}
                      <Icon name={isDescending ? "down" : "up"} />
                    </>
                  )}
                </button>
              ) : (
                column.head
              )}
            </div>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        className={styles.body}
        style={{ height: lines.getTotalSize(), minWidth }}
      >
        {shown.map(({ index, start }) => {
          const row = sorted[index];
          if (row === undefined) return null;
          return (
            <div
              key={getId(row)}
              role="row"
              aria-rowindex={index + 2}
              className={styles.row}
              style={{ ...grid, transform: `translateY(${start}px)` }}
            >
              {columns.map((column) => (
                <div key={column.head} role="cell" className={align(column)}>
                  {column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
