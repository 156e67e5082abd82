import { ApiError } from "@/api/client";
import styles from "./ErrorPanel.module.css";

interface Props {
  error: unknown;
  /** Shown as a button where a repetition may help. */
  onRetry?: () => void;
}

/** What happened, in the master's own words, with the request's id to ask about it. */
export function ErrorPanel({ error, onRetry }: Props) {
  const message = error instanceof Error ? error.message : String(error);
  const requestId = error instanceof ApiError ? error.requestId : "";
  return (
    <div className={styles.panel} role="alert">
      <p>{message}</p>
      {requestId && <p className={styles.request}>request {requestId}</p>}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
