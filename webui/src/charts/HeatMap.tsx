import { viridis, needsDarkText } from "./colours";
import { formatNumber } from "./format";
import { toBins, toCells } from "./heatMapCells";
import styles from "./HeatMap.module.css";
import type { Axis } from "./ParallelCoordinates";
import { useIsDark } from "./theme";

interface Props {
  across: Axis;
  down: Axis;
  /** The values that colour the cells, one for each row of the axes' values. */
  values: readonly number[];
  /** The name of the values: "loss". */
  metric: string;
  smallerIsBetter: boolean;
}

/**
 * The best value for each pair of hyperparameter values, coloured by rank. It is a table, so that screen
 * readers can read it.
 */
export function HeatMap({ across, down, values, metric, smallerIsBetter }: Props) {
  const isDark = useIsDark();
  const columns = toBins(across);
  const rows = toBins(down);
  const cells = toCells(columns, rows, values, smallerIsBetter);
  const all = cells.flat().flatMap((cell) => (cell ? [cell.best] : []));
  const lowest = Math.min(...all);
  const highest = Math.max(...all);
  const computeQuality = (value: number) => {
    const share = highest > lowest ? (value - lowest) / (highest - lowest) : 1;
    return smallerIsBetter ? 1 - share : share;
  };
  return (
    <div
      className={styles.scroll}
      tabIndex={0}
      role="group"
      aria-label={`Heat map of ${metric} by ${across.name} and ${down.name}`}
    >
      <table className={styles.map}>
        <caption>
          Best {metric} by {across.name} (x axis) and {down.name} (y axis)
        </caption>
        <thead>
          <tr>
            <th />
            {columns.names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cells.map((row, i) => (
            <tr key={rows.names[i]}>
              <th scope="row">{rows.names[i]}</th>
              {row.map((cell, j) => {
                if (!cell) return <td key={j} className={styles.none} />;
                const share = computeQuality(cell.best);
                return (
                  <td
                    key={j}
                    title={`${cell.count} ${cell.count === 1 ? "trial" : "trials"}, best ${formatNumber(cell.best)}`}
                    style={{
                      background: viridis(share, isDark),
                      color: needsDarkText(share, isDark) ? "#000" : "#fff",
                    }}
                  >
                    {formatNumber(cell.best)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
