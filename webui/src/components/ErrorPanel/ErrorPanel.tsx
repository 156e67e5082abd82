import { ApiError } from "@/api/client";
import styles from "./ErrorPanel.module.css";
import { RequestId } from "./RequestId";

interface Props {
  error: unknown;
  /** Adds a button to try again. */
  onRetry?: () => void;
}

// Another try gets the same answer.
const isFinal = (error: unknown) =>
  error instanceof ApiError && (error.status === 403 || error.status === 404);

/** An error message and its request ID. */
export function ErrorPanel({ error, onRetry }: Props) {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className={styles.panel} role="alert">
      <p>{message}</p>
      <RequestId error={error} />
      {onRetry && !isFinal(error) && (
        <button type="button" onClick={onRetry}>
          Retry
        </button>
      )}
    </div>
  );
}
