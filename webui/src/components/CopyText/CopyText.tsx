import { useState } from "react";
import { Icon } from "../Icon/Icon";
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
        {status || <Icon name="copy" />}
      </span>
    </button>
  );
}
