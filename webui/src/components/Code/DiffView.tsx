import { useMemo } from "react";
import { diffLines } from "diff";
import styles from "./Code.module.css";

interface Props {
  before: string;
  after: string;
}

interface DiffLine {
  mark: "+" | "-" | " ";
  text: string;
}

// A browser stutters at longer texts, and looking for the shortest difference of two takes as long as both.
const MOST_LINES = 5000;
const MOST_MS = 2000;

/** Undefined: finding it takes too long. */
function linesOf(before: string, after: string): DiffLine[] | undefined {
  return diffLines(before, after, { timeout: MOST_MS })?.flatMap(({ value, added, removed }) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): DiffLine => ({ mark: added ? "+" : removed ? "-" : " ", text })),
  );
}

/** Two texts line by line: what is gone, what is new, by mark and colour. */
export function DiffView({ before, after }: Props) {
  const lines = useMemo(() => linesOf(before, after), [before, after]);
  if (lines === undefined) {
    return <p>The two differ in too much to be shown here: compare them after a download.</p>;
  }
  const changes = lines.filter((line) => line.mark !== " ").length;
  if (changes === 0) return <p>No difference.</p>;
  return (
    <pre className={styles.code} tabIndex={0} aria-label={`${changes} lines differ`}>
      {lines.slice(0, MOST_LINES).map((line, i) => (
        <span
          key={i}
          className={
            line.mark === "+" ? styles.added : line.mark === "-" ? styles.removed : styles.line
          }
        >
          {`${line.mark} ${line.text}\n`}
        </span>
      ))}
      {lines.length > MOST_LINES && `… and ${lines.length - MOST_LINES} more lines`}
    </pre>
  );
}
