import { ApiError } from "@/api/client";
import styles from "./ErrorPanel.module.css";

/** The request ID of an error, behind "Details"; nothing if the request did not reach the master. */
export function RequestId({ error }: { error: unknown }) {
  if (!(error instanceof ApiError) || !error.requestId) return null;
  return (
    <details className={styles.details}>
      <summary>Details</summary>
      {error.original && <div>{error.original}</div>}
      <span className={styles.request}>Request ID {error.requestId}</span>
    </details>
  );
}
