import { useRef } from "react";
import { countDecimals, toNumber } from "@/charts/format";
import { isMetric } from "./cells";
import { getValue, type Row } from "./rows";

/**
 * The decimals of each column of metrics, by the rows that are here. They do not become fewer while one
 * scrolls through a `listing`.
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
