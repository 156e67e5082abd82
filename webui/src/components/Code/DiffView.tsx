import { useMemo } from "react";
import { diffLines } from "diff";
import { formatCount } from "@/text";
import styles from "./Code.module.css";

interface Props {
  before: string;
  after: string;
  /** The number of context lines around each change; all lines if undefined. */
  around?: number;
}

interface DiffLine {
  /** "…" marks skipped lines; the text counts them. */
  mark: "+" | "-" | " " | "…";
  text: string;
}

const STYLES = {
  "+": styles.added,
  "-": styles.removed,
  " ": styles.line,
  "…": styles.skipped,
};

// Browsers become slow with more lines, and finding the shortest difference can take long.
const MAX_LINES = 5000;
const MAX_MS = 2000;

/** Returns undefined if the diff takes too long. */
function toLines(before: string, after: string): DiffLine[] | undefined {
  return diffLines(before, after, { timeout: MAX_MS })?.flatMap(({ value, added, removed }) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): DiffLine => ({ mark: added ? "+" : removed ? "-" : " ", text })),
  );
}

/** Keeps the lines near changes and replaces the others by their number. */
function near(lines: readonly DiffLine[], around: number): DiffLine[] {
  const isNear = lines.map(() => false);
  lines.forEach(({ mark }, at) => {
    if (mark !== " ") isNear.fill(true, Math.max(0, at - around), at + around + 1);
  });
  const out: DiffLine[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    if (line && isNear[at]) out.push(line);
    if (isNear[at]) continue;
    const next = isNear.indexOf(true, at);
    const count = (next < 0 ? lines.length : next) - at;
    out.push({ mark: "…", text: formatCount(count, "unchanged line") });
    at += count - 1;
  }
  return out;
}

/** A line diff of two texts. */
export function DiffView({ before, after, around }: Props) {
  const all = useMemo(() => toLines(before, after), [before, after]);
  if (all === undefined) {
    return <p>Too many differences to display. Download both to compare them.</p>;
  }
  const changes = all.filter((line) => line.mark !== " ").length;
  if (changes === 0) return <p>No differences.</p>;
  const lines = around === undefined ? all : near(all, around);
  return (
    <pre className={styles.code} tabIndex={0} aria-label={formatCount(changes, "changed line")}>
      {lines.slice(0, MAX_LINES).map((line, i) => (
        <span key={i} className={STYLES[line.mark]}>
          {`${line.mark} ${line.text}\n`}
        </span>
      ))}
      {lines.length > MAX_LINES && `… and ${formatCount(lines.length - MAX_LINES, "more line")}`}
    </pre>
  );
}
