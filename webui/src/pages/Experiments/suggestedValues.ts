import { getValue, type Row } from "./rows";

const STATES = ["running", "queued", "active", "paused", "completed", "canceled", "error"];
const MAX_SHOWN = 50;

/** Values that a column is likely to be asked for: the states, or what is in the rows that are here. */
export function suggestColumnValues(column: string, rows: readonly Row[]): string[] {
  if (column === "state") return STATES;
  const values = rows.flatMap((row) => getValue(row, column) ?? []);
  return [...new Set(values.map(String))].sort().slice(0, MAX_SHOWN);
}
