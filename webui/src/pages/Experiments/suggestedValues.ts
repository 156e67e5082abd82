import { getValue, type Row } from "./rows";

const STATES = ["running", "queued", "active", "paused", "completed", "canceled", "error"];
const MAX_SHOWN = 50;

/** Suggests filter values for a column: the states, or the values of loaded rows. */
export function suggestColumnValues(column: string, rows: readonly Row[]): string[] {
  if (column === "state") return STATES;
  const values = rows.flatMap((row) => getValue(row, column) ?? []);
  return [...new Set(values.map(String))].sort().slice(0, MAX_SHOWN);
}
