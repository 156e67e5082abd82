import type { Curve } from "./paint";

/** Where a curve's name is written in a picture: the left end of the piece of its line. */
export interface LegendEntry {
  left: number;
  top: number;
  label: string;
  /** Of its series; none: what is said of those that are left out. */
  rank?: number;
}

/** The height of a line of the legend, and the length of the piece of line before a name. */
export const LEGEND = { row: 18, swatch: 18, gap: 6 } as const;

// More names are no legend but a list.
const MAX_SHOWN = 60;
// Wider than the letters of a small sans-serif are on the whole: no name runs into the next.
const LETTER = 7;

/** The names of the curves in columns of one width. Of a single one there is none: the title says it. */
export function layoutLegend(curves: readonly Curve[], width: number): LegendEntry[] {
  if (curves.length < 2) return [];
  const shown = curves.slice(0, MAX_SHOWN).map(({ series }) => series);
  const longest = Math.max(...shown.map(({ label }) => label.length));
  const wide = LEGEND.swatch + 2 * LEGEND.gap + LETTER * longest;
  const columns = Math.max(1, Math.floor(width / wide));
  const place = (i: number) => ({
    left: (i % columns) * wide,
    top: Math.floor(i / columns) * LEGEND.row,
  });
  const entries: LegendEntry[] = shown.map(({ label, rank }, i) => ({ ...place(i), label, rank }));
  const more = curves.length - shown.length;
  if (more > 0) entries.push({ ...place(shown.length), label: `and ${more} more` });
  return entries;
}

/** Pixels that the entries need. */
export const computeLegendHeight = (entries: readonly LegendEntry[]) =>
  entries.length > 0 ? (entries.at(-1)?.top ?? 0) + LEGEND.row : 0;
