import { useState } from "react";
import { copyText } from "./copy";
import styles from "./CopyText.module.css";

interface Props {
  text: string;
  /** Shown instead of the text. */
  label?: string;
}

/** An ID or a command with a copy button. */
export function CopyText({ text, label }: Props) {
  const [status, setStatus] = useState("");
  const copy = async () => {
    setStatus((await copyText(text)) ? "Copied" : "Copy failed");
  };
  return (
    <button
      type="button"
      className={styles.copy}
      title={`Copy ${text}`}
      onClick={() => void copy()}
      onBlur={() => setStatus("")}
    >
      <code>{label ?? text}</code>
      <span className={styles.mark} aria-live="polite">
        {status || <CopyIcon />}
      </span>
    </button>
  );
}

// Drawn, because not every font has a character for it.
function CopyIcon() {
  return (
    <svg aria-hidden width="12" height="12" viewBox="0 0 12 12" fill="none" stroke="currentColor">
      <rect x="3.5" y="3.5" width="8" height="8" rx="1" />
      <path d="M1.5 8.5h-1v-8h8v1" />
    </svg>
  );
}
