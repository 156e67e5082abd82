import type { Axis } from "./ParallelCoordinates";
import { formatNumber } from "./format";

/** The bins of an axis: the bin of each value (-1 for none) and the bins' names in order. */
export interface Bins {
  of: number[];
  names: string[];
}

const MAX_BINS = 8;

/** Strings and few distinct numbers get a bin each; more numbers are put into equal intervals. */
export function toBins({ values, isLog = false }: Axis): Bins {
  const known = values.filter((value) => value !== undefined);
  const distinct = [...new Set(known)];
  if (known.some((value) => typeof value === "string") || distinct.length <= MAX_BINS) {
    const names = distinct
      .sort((a, b) =>
        typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1,
      )
      .map((value) => (typeof value === "number" ? formatNumber(value) : value));
    const indices = new Map(distinct.map((value, i) => [value, i]));
    return {
      of: values.map((value) => (value === undefined ? -1 : (indices.get(value) ?? -1))),
      names,
    };
  }
  const numbers = known as number[];
  const by = isLog && numbers.every((value) => value > 0) ? Math.log10 : Number;
  const back = by === Math.log10 ? (at: number) => 10 ** at : Number;
  const lowest = by(Math.min(...numbers));
  const size = (by(Math.max(...numbers)) - lowest) / MAX_BINS;
  const names = Array.from({ length: MAX_BINS }, (_, i) => {
    const from = back(lowest + i * size);
    const to = back(lowest + (i + 1) * size);
    return `${formatNumber(Number(from.toPrecision(2)))} – ${formatNumber(Number(to.toPrecision(2)))}`;
  });
  const of = values.map((value) =>
    typeof value === "number"
      ? Math.min(MAX_BINS - 1, Math.floor((by(value) - lowest) / size))
      : -1,
  );
  return { of, names };
}

/** The best of a cell's values and their number. */
export interface Cell {
  best: number;
  count: number;
}

/** The cells of a heat map by rows (`down`) and columns (`across`); undefined if a cell has no value. */
export function toCells(
  across: Bins,
  down: Bins,
  values: readonly number[],
  smallerIsBetter: boolean,
): (Cell | undefined)[][] {
  const rows = down.names.map(() => across.names.map((): Cell | undefined => undefined));
  values.forEach((value, i) => {
    const row = rows[down.of[i] ?? -1];
    const column = across.of[i] ?? -1;
    if (!row || column < 0 || !Number.isFinite(value)) return;
    const cell = row[column];
    const best = cell
      ? smallerIsBetter
        ? Math.min(cell.best, value)
        : Math.max(cell.best, value)
      : value;
    row[column] = { best, count: (cell?.count ?? 0) + 1 };
  });
  return rows;
}
