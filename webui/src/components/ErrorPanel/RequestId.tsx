import { ApiError } from "@/api/client";
import styles from "./ErrorPanel.module.css";

/** The request ID of an error, behind "Details"; nothing if the request did not reach the master. */
export function RequestId({ error }: { error: unknown }) {
  const id = error instanceof ApiError ? error.requestId : "";
  return (
    id && (
      <details className={styles.details}>
        <summary>Details</summary>
        <span className={styles.request}>Request ID {id}</span>
      </details>
    )
  );
}
