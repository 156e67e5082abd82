import { useRef } from "react";
import { countDecimals, toNumber } from "@/charts/format";
import { isMetric } from "./cells";
import { getValue, type Row } from "./rows";

/**
 * The decimals of each metric column from the loaded rows. They do not decrease while scrolling through a
 * `listing`.
 */
export function useDecimals(columns: readonly string[], rows: readonly Row[], listing: string) {
  const known = useRef({ listing, decimals: new Map<string, number>() });
  if (known.current.listing !== listing) known.current = { listing, decimals: new Map() };
  const { decimals } = known.current;
  for (const column of columns.filter(isMetric)) {
    const values = rows.map((row) => toNumber(getValue(row, column) as number | undefined));
    decimals.set(column, Math.max(decimals.get(column) ?? 0, countDecimals(values)));
  }
  return decimals;
}
