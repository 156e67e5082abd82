import styles from "./Meter.module.css";

interface Props {
  /** What is measured: "Slots in use". */
  label: string;
  value: number;
  /** All of it; 0: there is none. */
  all: number;
}

/** How much of something: a bar that says its numbers to those who cannot see it. */
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
