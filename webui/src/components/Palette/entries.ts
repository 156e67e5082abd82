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

function isSubsequence(query: string, text: string): boolean {
  let at = 0;
  for (const letter of query) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

/**
 * Finds the entries that match `query`, best first: pages, known experiments, with a query also
 * `extraEntries`, and any experiment by ID.
 */
export function findEntries(
  query: string,
  overview: Overview | undefined,
  pages: readonly NavItem[] = navItems,
  extraEntries: readonly Entry[] = [],
): Entry[] {
  const searched = query.trim().toLowerCase();
  const { running = [], ended = [] } = overview ?? {};
  const all = [
    ...pages.map(({ to, label }) => ({ to, label, hint: "page" })),
    ...[...running, ...ended].map(({ id = 0, name = "" }) => ({
      to: paths.experiment(id),
      label: `${id} ${name}`,
      hint: "experiment",
    })),
    ...(searched === "" ? [] : extraEntries),
  ];
  const parts = all.filter(({ label }) => label.toLowerCase().includes(searched));
  const loose = all.filter(
    (entry) => !parts.includes(entry) && isSubsequence(searched, entry.label.toLowerCase()),
  );
  const found = [...parts, ...loose];
  const number = /^\d+$/.test(searched) ? paths.experiment(Number(searched)) : "";
  if (number && !found.some(({ to }) => to === number)) {
    found.unshift({ to: number, label: `Experiment ${searched}`, hint: "by ID" });
  }
  return found.slice(0, 12);
}
