import styles from "./Frame.module.css";
import { useConnection, type Connection } from "./useConnection";

const TEXTS: Record<Connection, string> = {
  connected: "",
  offline: "No network connection. This page shows the last known data.",
  unreachable: "The master does not answer. This page shows the last known data and reconnects.",
};

/** Says that the shown data may be old, while the master cannot be reached. */
export function ConnectionBanner({ live }: { live: boolean }) {
  const text = TEXTS[useConnection(live)];
  return (
    <div role="status" className={styles.banner}>
      {text}
    </div>
  );
}
