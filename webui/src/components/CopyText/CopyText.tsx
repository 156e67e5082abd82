import { useState } from "react";
import styles from "./CopyText.module.css";

interface Props {
  text: string;
  /** What is shown in its place; the text itself without it. */
  label?: string;
}

/** An id or a command that one click copies. */
export function CopyText({ text, label }: Props) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <button
      type="button"
      className={styles.copy}
      title={`Copy ${text}`}
      onClick={() => void copy()}
      onBlur={() => setCopied(false)}
    >
      <code>{label ?? text}</code>
      <span className={styles.mark} aria-live="polite">
        {copied ? "copied" : <span aria-hidden>⧉</span>}
      </span>
    </button>
  );
}
