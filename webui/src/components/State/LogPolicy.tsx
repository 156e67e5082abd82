import styles from "./State.module.css";

/** The label of a trial in whose log a line matched a log policy. */
export function LogPolicy({ name }: { name: string | undefined }) {
  if (!name) return null;
  return (
    <span className={styles.badge} title={`A line of its log matched the log policy "${name}".`}>
      {name}
    </span>
  );
}
