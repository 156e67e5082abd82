import { useState } from "react";
import { countDecimals, toNumber } from "@/charts/format";
import { isMetric } from "./cells";
import { getValue, type Row } from "./rows";

type Decimals = ReadonlyMap<string, number>;

const NONE: Decimals = new Map();

/**
 * The decimals of each metric column from the loaded rows. They do not decrease while scrolling through a
 * `listing`.
 */
export function useDecimals(
  columns: readonly string[],
  rows: readonly Row[],
  listing: string,
): Decimals {
  const [last, setLast] = useState({ listing, decimals: NONE });
  const before = last.listing === listing ? last.decimals : NONE;
  const decimals = new Map(before);
  for (const column of columns.filter(isMetric)) {
    const values = rows.map((row) => toNumber(getValue(row, column) as number | undefined));
    decimals.set(column, Math.max(before.get(column) ?? 0, countDecimals(values)));
  }
  if (last.listing === listing && isEqual(before, decimals)) return before;
  setLast({ listing, decimals });
  return decimals;
}

function isEqual(a: Decimals, b: Decimals): boolean {
  return a.size === b.size && [...b].every(([column, count]) => a.get(column) === count);
}
