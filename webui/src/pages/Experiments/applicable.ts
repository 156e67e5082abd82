import { isTerminal } from "@/api/states";
import type { Row } from "./rows";

/** An action of the bulk bar. */
export type Verb =
  "pause" | "activate" | "cancel" | "kill" | "archive" | "unarchive" | "delete" | "move";

/** What the table knows about a row; the master decides. */
interface Facts {
  state: string;
  isArchived: boolean | undefined;
  isUnmanaged: boolean;
  /** A trial whose experiment has, or may have, others: most actions apply to the experiment only. */
  isPartOfSearch: boolean;
}

function readFacts({ kind, experiment, run }: Row): Facts {
  const state = kind === "runs" ? (run?.trialState ?? run?.state) : experiment?.state;
  return {
    state: (state ?? "").replace("STATE_", ""),
    isArchived: kind === "runs" ? run?.archived : experiment?.archived,
    isUnmanaged: experiment?.unmanaged ?? run?.experiment?.unmanaged ?? false,
    isPartOfSearch: kind === "runs" && (run?.experiment?.isMultitrial ?? false),
  };
}

/** Why the action does not apply to the row, in words that follow a number; empty if it may apply. */
export function explainSkip(verb: Verb, row: Row): string {
  const { state, isArchived, isUnmanaged, isPartOfSearch } = readFacts(row);
  const hasEnded = isTerminal(`STATE_${state}`);
  if (isPartOfSearch && verb !== "kill") return "part of a search";
  if (state === "") return "";
  if (/^DELET/.test(state) && !(verb === "delete" && state === "DELETE_FAILED"))
    return "being deleted";
  switch (verb) {
    case "pause":
    case "cancel":
    case "kill":
      if (hasEnded) return "ended";
      if (isUnmanaged) return "outside of the cluster";
      if (verb === "pause" && state === "PAUSED") return "paused";
      return verb !== "kill" && /^STOPPING/.test(state) ? "stopping" : "";
    case "activate":
      if (hasEnded) return "ended";
      if (isUnmanaged) return "outside of the cluster";
      return state === "PAUSED" ? "" : "not paused";
    case "archive":
      if (isArchived) return "archived";
      return hasEnded ? "" : "not ended";
    case "unarchive":
      return isArchived === false ? "not archived" : "";
    case "delete":
      return hasEnded ? "" : "not ended";
    case "move":
      return "";
  }
}

/** The selected rows by whether an action applies to them. */
export interface Selection {
  ids: number[];
  /** The number of the other rows, and why the action does not apply to them: "2 ended, 1 paused". */
  skipped: number;
  reasons: string;
}

/** Rows that are selected but not loaded may be anything: the action applies to them. */
export function selectFor(verb: Verb, ids: readonly number[], rows: readonly Row[]): Selection {
  const known = new Map(rows.map((row) => [row.id, row]));
  const counts = new Map<string, number>();
  const chosen = ids.filter((id) => {
    const row = known.get(id);
    const reason = row ? explainSkip(verb, row) : "";
    if (reason) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    return !reason;
  });
  const reasons = [...counts].map(([reason, count]) => `${count.toLocaleString("en")} ${reason}`);
  return { ids: chosen, skipped: ids.length - chosen.length, reasons: reasons.join(", ") };
}
