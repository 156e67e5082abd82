import { ApiError } from "@/api/client";
import styles from "./ErrorPanel.module.css";

/** The id of the refused request in small type, to ask about it; nothing where none reached the master. */
export function RequestId({ error }: { error: unknown }) {
  const id = error instanceof ApiError ? error.requestId : "";
  return id && <span className={styles.request}>Request ID {id}</span>;
}
