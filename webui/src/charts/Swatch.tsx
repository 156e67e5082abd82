import { getStroke } from "./colours";
import styles from "./LineChart.module.css";

/** A sample of the line of a series with this rank. */
export function Swatch({ rank }: { rank: number }) {
  const { colour, dash } = getStroke(rank);
  return (
    <svg className={styles.swatch} width={16} height={8} aria-hidden>
      <line
        x1={0}
        x2={16}
        y1={4}
        y2={4}
        strokeWidth={2}
        stroke={colour}
        strokeDasharray={dash.join(" ")}
      />
    </svg>
  );
}
