import { formatNumber, formatStep } from "./format";
import styles from "./LineChart.module.css";
import type { Near } from "./nearest";
import { Swatch } from "./Swatch";

export type Side = "left" | "right";

interface Props {
  /** The nearest first. */
  near: readonly Near[];
  /** The side of the plot at which it stands: the one without the pointer. */
  side: Side;
  xLabel: string;
  formatX?: ((x: number) => string) | undefined;
}

/** The values of the curves near the pointer, largest first, with the nearest in bold. */
export function Tooltip({ near, side, xLabel, formatX = formatStep }: Props) {
  const first = near[0];
  if (!first) return null;
  const rank = ({ y }: Near) => (Number.isNaN(y) ? -Infinity : y);
  const ordered = [...near].sort((a, b) => (rank(a) < rank(b) ? 1 : rank(a) > rank(b) ? -1 : 0));
  return (
    <div className={`${styles.tooltip} ${styles[side]}`} role="tooltip">
      <p>
        {xLabel} {formatX(first.x)}
      </p>
      {ordered.map((each) => (
        <div
          key={each.curve.series.id}
          className={`${styles.entry} ${each === first ? styles.nearest : ""}`}
        >
          <Swatch rank={each.curve.series.rank} />
          <span className={styles.name}>{each.curve.series.label}</span>
          <span>{formatNumber(each.y)}</span>
        </div>
      ))}
    </div>
  );
}
