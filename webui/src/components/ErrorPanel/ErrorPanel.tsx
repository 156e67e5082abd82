import styles from "./ErrorPanel.module.css";
import { RequestId } from "./RequestId";

interface Props {
  error: unknown;
  /** Adds a button to try again. */
  onRetry?: () => void;
}

/** An error message and its request ID. */
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
