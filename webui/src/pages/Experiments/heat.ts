import { toNumber } from "@/charts/format";
import { getValue, type Row } from "./rows";
import type { MetricRange } from "./useColumns";
import { isMetricName } from "./words";

/** The position of a value among those of its metric. */
export interface Heat {
  /** From 0 to 1; the better values are the larger ones if it is known which are better. */
  share: number;
  /** Which values are better; empty if it is unknown. */
  better: string;
}

/** Whether smaller values of an experiment's searcher metric are better, by experiment ID. */
export type Directions = ReadonlyMap<number, boolean>;

interface SearcherConfig {
  searcher?: { smaller_is_better?: boolean };
}

/** Whether smaller is better in an experiment's configuration; undefined if it does not tell. */
export const isSmallerBetter = (config: unknown) =>
  (config as SearcherConfig | undefined)?.searcher?.smaller_is_better;

export const getExperimentId = ({ experiment, run }: Row) => experiment?.id ?? run?.experiment?.id;

const getSearcherMetric = ({ experiment, run }: Row) =>
  experiment?.searcherMetric ?? run?.experiment?.searcherMetric ?? "";

function getDirection(row: Row, directions: Directions): boolean | undefined {
  return isSmallerBetter(row.experiment?.config) ?? directions.get(getExperimentId(row) ?? 0);
}

/** What rows are coloured together: the metric, and whether smaller is better. */
const getScale = (row: Row, directions: Directions) =>
  `${getSearcherMetric(row)} ${getDirection(row, directions)}`;

function toRange(values: readonly number[]): MetricRange | undefined {
  const finite = values.filter(Number.isFinite);
  return finite.length > 0 ? [Math.min(...finite), Math.max(...finite)] : undefined;
}

/** Whether smaller values of a metric are better, if all experiments that search by it agree. */
function findDirection(
  metric: string,
  rows: readonly Row[],
  directions: Directions,
): boolean | undefined {
  const found = new Set(
    rows
      .filter((row) => getSearcherMetric(row) === metric)
      .map((row) => getDirection(row, directions)),
  );
  return found.size === 1 ? [...found][0] : undefined;
}

function toHeat(value: number, [low, high]: MetricRange, isSmaller: boolean | undefined): Heat {
  const share = high > low ? (value - low) / (high - low) : 0.5;
  const better =
    isSmaller === undefined ? "" : isSmaller ? "smaller is better" : "larger is better";
  return { share: isSmaller ? 1 - share : share, better };
}

/**
 * Returns the function that places a row's value of a column among the others. Searcher metrics are placed among
 * those of the same metric and direction only.
 *
 * @param ranges by "group.name", of all rows; a column without one has the range of `rows`.
 */
export function createHeat(
  column: string,
  rows: readonly Row[],
  ranges: ReadonlyMap<string, MetricRange> | undefined,
  directions: Directions,
): (row: Row) => Heat | undefined {
  const read = (row: Row) => toNumber(getValue(row, column) as number | string | undefined);
  if (column === "searcherMetricsVal") {
    const scales = new Map<string, Row[]>();
    for (const row of rows) {
      const scale = getScale(row, directions);
      scales.set(scale, [...(scales.get(scale) ?? []), row]);
    }
    const found = new Map([...scales].map(([scale, some]) => [scale, toRange(some.map(read))]));
    return (row) => {
      const range = found.get(getScale(row, directions));
      const value = read(row);
      if (!range || !Number.isFinite(value)) return undefined;
      return toHeat(value, range, getDirection(row, directions));
    };
  }
  const [, name = "", metric = ""] = isMetricName(column)
    ? (/^([^.]+\.(.+))\.[a-z]+$/.exec(column) ?? [])
    : [];
  const known = ranges?.get(name);
  const range = known?.every(Number.isFinite) ? known : toRange(rows.map(read));
  const direction = metric ? findDirection(metric, rows, directions) : undefined;
  return (row) => {
    const value = read(row);
    return range && Number.isFinite(value) ? toHeat(value, range, direction) : undefined;
  };
}
