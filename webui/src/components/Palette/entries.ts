import type { Overview } from "@/api/useOverview";
import { navItems, type NavItem } from "../Frame/navItems";
import { paths } from "@/paths";

/** An entry of the palette. */
export interface Entry {
  to: string;
  label: string;
  /** The kind of the target. */
  hint: string;
}

// The largest ID of the API.
const MAX_ID = 2 ** 31 - 1;

/** The ID in a query: "47", "#47", "trial 47"; `kind` if the query names one. */
export function parseId(
  query: string,
): { id: number; kind: "experiment" | "trial" | undefined } | undefined {
  const [, word, digits] = /^(?:(experiment|trial)\s+)?#?(\d+)$/i.exec(query.trim()) ?? [];
  const id = Number(digits);
  if (!(id > 0 && id <= MAX_ID)) return undefined;
  const kind = word?.toLowerCase();
  return { id, kind: kind === "experiment" || kind === "trial" ? kind : undefined };
}

function isSubsequence(query: string, text: string): boolean {
  let at = 0;
  for (const letter of query) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

/**
 * Finds the entries that match `query`, best first: the experiment and the trial with this ID, pages, known experiments
 * and with a query `others`, then what else the master has `found`.
 */
export function findEntries(
  query: string,
  overview: Overview | undefined,
  pages: readonly NavItem[] = navItems,
  others: readonly Entry[] = [],
  found: readonly Entry[] = [],
): Entry[] {
  const searched = query.trim().toLowerCase();
  const { running = [], ended = [] } = overview ?? {};
  const known: Entry[] = [
    ...pages.map(({ to, label }) => ({ to, label, hint: "page" })),
    ...[...running, ...ended].map(({ id = 0, name = "" }) => ({
      to: paths.experiment(id),
      label: `${id} ${name}`,
      hint: "experiment",
    })),
    ...(searched === "" ? [] : others),
  ];
  const id = parseId(query)?.id ?? 0;
  const isExact = ({ to }: Entry) =>
    id > 0 && (to === paths.experiment(id) || to === paths.trial(id));
  const matching = known.filter(({ label }) => label.toLowerCase().includes(searched));
  const loose = known.filter(({ label }) => isSubsequence(searched, label.toLowerCase()));
  const all = [
    ...[...known, ...found].filter(isExact),
    ...matching,
    ...found,
    ...(id > 0 ? [] : loose),
  ];
  const isFirst = (entry: Entry, i: number) => all.findIndex(({ to }) => to === entry.to) === i;
  return all.filter(isFirst);
}
