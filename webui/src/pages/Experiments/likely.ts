import { valueOf, type Row } from "./rows";

const STATES = ["running", "queued", "active", "paused", "completed", "canceled", "error"];
const MOST = 50;

/** Values that a column is likely to be asked for: the states, or what is in the rows that are here. */
export function likelyValues(column: string, rows: readonly Row[]): string[] {
  if (column === "state") return STATES;
  const values = rows.flatMap((row) => valueOf(row, column) ?? []);
  return [...new Set(values.map(String))].sort().slice(0, MOST);
}
