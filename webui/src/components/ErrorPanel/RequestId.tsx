import { ApiError } from "@/api/client";
import styles from "./ErrorPanel.module.css";

/** The request ID of an error in small type; nothing if the request did not reach the master. */
export function RequestId({ error }: { error: unknown }) {
  const id = error instanceof ApiError ? error.requestId : "";
  return id && <span className={styles.request}>Request ID {id}</span>;
}
