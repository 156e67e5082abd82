import styles from "./ErrorPanel.module.css";
import { RequestId } from "./RequestId";

interface Props {
  error: unknown;
  /** Shown as a button where a repetition may help. */
  onRetry?: () => void;
}

/** What happened, in the master's own words, with the request's id to ask about it. */
export function ErrorPanel({ error, onRetry }: Props) {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className={styles.panel} role="alert">
      <p>{message}</p>
      <RequestId error={error} />
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
