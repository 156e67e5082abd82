import { formatNumber } from "./format";
import styles from "./LineChart.module.css";
import type { Near } from "./nearest";
import { Swatch } from "./Swatch";

interface Props {
  near: readonly Near[];
  /** The pointer's position in pixels of the plot. */
  at: { left: number; top: number };
  xLabel: string;
  formatX: (x: number) => string;
}

/** The values of the curves near the pointer. */
export function Tooltip({ near, at, xLabel, formatX }: Props) {
  const first = near[0];
  if (!first) return null;
  const isRight = at.left > 260;
  const position = isRight
    ? { left: at.left + 40, transform: "translateX(-100%)" }
    : { left: at.left + 76 };
  return (
    <div className={styles.tooltip} style={{ ...position, top: at.top + 12 }} role="tooltip">
      <p>
        {xLabel} {formatX(first.x)}
      </p>
      {near.map(({ curve, y }) => (
        <div key={curve.series.id} className={styles.entry}>
          <Swatch rank={curve.series.rank} />
          <span className={styles.name}>{curve.series.label}</span>
          <span>{formatNumber(y)}</span>
        </div>
      ))}
    </div>
  );
}
