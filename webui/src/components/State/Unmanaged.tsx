import styles from "./State.module.css";

/** Why actions on an unmanaged experiment or trial are missing. */
export const UNMANAGED =
  "Runs outside of the cluster and only reports to it: its own program starts and stops it.";

/** The badge of an unmanaged experiment or trial. */
export function Unmanaged() {
  return (
    <span className={styles.badge} title={UNMANAGED}>
      unmanaged
    </span>
  );
}
