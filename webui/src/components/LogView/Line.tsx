import { memo } from "react";
import { formatLocalTime } from "@/format";
import { parseAnsi, type TextStyle } from "./ansi";
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
  const isNewDay = date !== formatLocalTime(previous?.timestamp).slice(0, 10);
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
        {isNewDay && <span className={styles.date}>{date} </span>}
        {time.slice(11, 23)}
      </a>
      <span className={styles.rank}>{line.rankId ?? ""}</span>
      <span className={styles.message}>
        {parseAnsi(line.log ?? line.message ?? "").map(({ text, style }, i) => {
          const names = toClass(style);
          return names ? (
            <span key={i} className={names}>
              {text}
            </span>
          ) : (
            text
          );
        })}
      </span>
    </div>
  );
});

/** The class names of a style; undefined if it is plain. */
function toClass(style: TextStyle): string | undefined {
  const { colour, background, isInverse } = style;
  // Inverse text has a background in its colour: the text on a full one could not be read in both themes.
  const behind = isInverse ? (colour ?? 7) : background;
  const names = [
    colour !== undefined && `colour${colour}`,
    behind !== undefined && `behind${behind}`,
    style.isBold && "bold",
    style.isFaint && "faint",
    style.isItalic && "italic",
    style.isUnderlined && "underlined",
    style.isStruck && "struck",
  ].filter((name) => name !== false && name !== undefined);
  return names.length > 0 ? names.map((name) => styles[name]).join(" ") : undefined;
}

/** The address of this page with a selected line. */
export function toLineUrl(line: string, search: string): string {
  const params = new URLSearchParams(search);
  params.set("line", line);
  return `${location.origin}${location.pathname}?${params.toString()}`;
}
