import { formatCount } from "@/text";
import styles from "./Code.module.css";

// Browsers become slow with more lines; the download has the whole file.
const MAX_LINES = 5000;

/** A text with line numbers. */
export function CodeView({ text, label }: { text: string; label: string }) {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <pre className={styles.code} tabIndex={0} aria-label={label}>
      {lines.slice(0, MAX_LINES).map((line, i) => (
        <span key={i} className={styles.line}>
          <span className={styles.count} aria-hidden>
            {i + 1}
          </span>
          {line + "\n"}
        </span>
      ))}
      {lines.length > MAX_LINES && `… and ${formatCount(lines.length - MAX_LINES, "more line")}`}
    </pre>
  );
}
