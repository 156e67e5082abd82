import type { Curve } from "./paint";

/** The position of a curve's name in an exported picture. */
export interface LegendEntry {
  left: number;
  top: number;
  label: string;
  /** The rank of the series; undefined for the line that counts omitted names. */
  rank?: number;
}

/** Row height, and length of the line sample before a name, in pixels. */
export const LEGEND = { row: 18, swatch: 18, gap: 6 } as const;

// The number of names that a picture lists.
const MAX_SHOWN = 60;
// An upper bound of the average letter width, so that names do not overlap.
const LETTER = 7;

/** The names of the curves in columns of equal width. A single curve has no legend: the title names it. */
export function layoutLegend(curves: readonly Curve[], width: number): LegendEntry[] {
  if (curves.length < 2) return [];
  const shown = curves.slice(0, MAX_SHOWN).map(({ series }) => series);
  const longest = Math.max(...shown.map(({ label }) => label.length));
  const wide = LEGEND.swatch + 2 * LEGEND.gap + LETTER * longest;
  const columns = Math.max(1, Math.floor(width / wide));
  const getPosition = (i: number) => ({
    left: (i % columns) * wide,
    top: Math.floor(i / columns) * LEGEND.row,
  });
  const entries: LegendEntry[] = shown.map(({ label, rank }, i) => ({
    ...getPosition(i),
    label,
    rank,
  }));
  const more = curves.length - shown.length;
  if (more > 0) entries.push({ ...getPosition(shown.length), label: `and ${more} more` });
  return entries;
}

/** The height of the entries in pixels. */
export const computeLegendHeight = (entries: readonly LegendEntry[]) =>
  entries.length > 0 ? (entries.at(-1)?.top ?? 0) + LEGEND.row : 0;
