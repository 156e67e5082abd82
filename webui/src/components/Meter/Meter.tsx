import styles from "./Meter.module.css";

interface Props {
  /** The name of the quantity: "Slots in use". */
  label: string;
  value: number;
  /** The maximum; 0 if there is none. */
  all: number;
}

/** A bar with accessible numbers. */
export function Meter({ label, value, all }: Props) {
  const share = all > 0 ? Math.min(1, Math.max(0, value / all)) : 0;
  return (
    <div
      className={styles.meter}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={all}
      aria-valuenow={Math.min(value, all)}
    >
      <div className={styles.fill} style={{ width: `${share * 100}%` }} />
    </div>
  );
}
