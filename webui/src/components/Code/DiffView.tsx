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

function linesOf(before: string, after: string): DiffLine[] {
  return diffLines(before, after).flatMap(({ value, added, removed }) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): DiffLine => ({ mark: added ? "+" : removed ? "-" : " ", text })),
  );
}

/** Two texts line by line: what is gone, what is new, by mark and colour. */
export function DiffView({ before, after }: Props) {
  const lines = linesOf(before, after);
  const changes = lines.filter((line) => line.mark !== " ").length;
  if (changes === 0) return <p>No difference.</p>;
  return (
    <pre className={styles.code} tabIndex={0} aria-label={`${changes} lines differ`}>
      {lines.map((line, i) => (
        <span
          key={i}
          className={
            line.mark === "+" ? styles.added : line.mark === "-" ? styles.removed : styles.line
          }
        >
          {`${line.mark} ${line.text}\n`}
        </span>
      ))}
    </pre>
  );
}
