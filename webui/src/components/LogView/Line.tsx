import { memo } from "react";
import { formatLocalTime } from "@/format";
import styles from "./LogView.module.css";
import { isError, type LogLine } from "./window";

interface Props {
  line: LogLine;
  previous: LogLine | undefined;
  top: number;
  isSelected: boolean;
  /** The page's query, part of the line's link. */
  search: string;
  onSelect: (id: string) => void;
}

/** A log line. Its time is a link to the line. */
export const Line = memo(function Line({
  line,
  previous,
  top,
  isSelected,
  search,
  onSelect,
}: Props) {
  const time = formatLocalTime(line.timestamp);
  const date = time.slice(0, 10);
  // Show the date only where it differs from the previous line's.
  const day = date === formatLocalTime(previous?.timestamp).slice(0, 10) ? "" : `${date} `;
  const isWarning = line.level === "LOG_LEVEL_WARNING";
  const kind = isError(line) ? styles.error : isWarning ? styles.warning : "";
  const { id = "" } = line;
  return (
    <div
      className={`${styles.line} ${kind} ${isSelected ? styles.selected : ""}`}
      style={{ transform: `translateY(${top}px)` }}
      aria-current={isSelected || undefined}
    >
      <a
        // A real link for the context menu; not a tab stop, as there are thousands.
        href={toLineUrl(id, search)}
        tabIndex={-1}
        className={styles.time}
        title={`${time}: link to this line`}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          onSelect(id);
        }}
      >
        {day + time.slice(11, 23)}
      </a>
      <span className={styles.rank}>{line.rankId ?? ""}</span>
      <span>{line.log ?? line.message}</span>
    </div>
  );
});

/** The address of this page with a selected line. */
export function toLineUrl(line: string, search: string): string {
  const params = new URLSearchParams(search);
  params.set("line", line);
  return `${location.origin}${location.pathname}?${params.toString()}`;
}
