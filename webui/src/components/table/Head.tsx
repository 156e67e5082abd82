import { useRef, type CSSProperties } from "react";
import { Icon } from "../Icon/Icon";
import styles from "./DataTable.module.css";
import type { Sort, TableColumn } from "./view";

interface Props {
  column: TableColumn;
  width: number;
  className: string;
  style: CSSProperties;
  sort: readonly Sort[];
  /** Called on a click; `isAdded` with Shift: sort by this column after the existing ones. */
  onSort: (isAdded: boolean) => void;
  /** Called when another column is dropped here. */
  onMove: (name: string) => void;
  onResize: (width: number) => void;
}

const STEP = 16;

/** The head of a column: click sorts, drag moves, the edge resizes (also with the arrow keys). */
export function Head({ column, width, className, style, sort, onSort, onMove, onResize }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const order = sort.findIndex((by) => by.column === column.name);
  const by = sort[order];
  const resize = (pixels: number) => onResize(Math.max(48, Math.min(1200, pixels)));

  const drag = (down: React.PointerEvent) => {
    down.preventDefault();
    const move = (event: PointerEvent) => {
      if (element.current)
        element.current.style.width = `${Math.max(48, width + event.clientX - down.clientX)}px`;
    };
    const end = (event: PointerEvent) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      resize(width + event.clientX - down.clientX);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  };

  return (
    <div
      ref={element}
      role="columnheader"
      aria-sort={by ? (by.isDescending ? "descending" : "ascending") : "none"}
      className={`${styles.headCell} ${column.isNumber ? styles.number : ""} ${className}`}
      style={{ width, ...style }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => onMove(event.dataTransfer.getData("text/column"))}
    >
      <button
        type="button"
        className={styles.sort}
        title={`${column.name}: click to sort, Shift-click to add to the sort, drag to move`}
        draggable
        onDragStart={(event) => event.dataTransfer.setData("text/column", column.name)}
        onClick={(event) => onSort(event.shiftKey)}
      >
        {column.isLoading ? (
          <span className={styles.skeleton} role="status" aria-label="Loading" />
        ) : (
          column.head
        )}
        {by && (
          <span aria-hidden>
            {" "}
            <Icon name={by.isDescending ? "down" : "up"} />
            {sort.length > 1 && <sub>{order + 1}</sub>}
          </span>
        )}
      </button>
      <span
        className={styles.edge}
        role="separator"
        aria-orientation="vertical"
        aria-label={`Width of ${column.head}`}
        aria-valuenow={Math.round(width)}
        tabIndex={0}
        onPointerDown={drag}
        onKeyDown={(event) => {
          if (event.key === "ArrowLeft") resize(width - STEP);
          if (event.key === "ArrowRight") resize(width + STEP);
        }}
      />
    </div>
  );
}
