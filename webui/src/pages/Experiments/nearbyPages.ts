/** The last direction of scrolling. */
export type Direction = "none" | "up" | "down";

/** The number of pages to prefetch; fewer before the first scroll. */
const BEYOND: Record<Direction, { below: number; above: number }> = {
  none: { below: 1, above: 0 },
  down: { below: 3, above: 1 },
  up: { below: 1, above: 3 },
};

/**
 * The pages to load while the rows `from` to `to` (excluded) of `total` are visible: their pages first, then
 * pages in the direction of scrolling, nearest first, then those behind.
 */
export function nearbyPages(
  from: number,
  to: number,
  total: number,
  size: number,
  direction: Direction,
): number[] {
  const last = Math.floor(Math.max(0, total - 1) / size);
  const within = (row: number) => Math.min(last, Math.floor(Math.max(0, row) / size));
  const first = within(from);
  const end = within(Math.max(from, to - 1));
  const pages: number[] = [];
  for (let page = first; page <= end; page++) pages.push(page);
  const { below, above } = BEYOND[direction];
  const under = Array.from({ length: below }, (_, i) => end + 1 + i);
  const over = Array.from({ length: above }, (_, i) => first - 1 - i);
  pages.push(...(direction === "up" ? [...over, ...under] : [...under, ...over]));
  return pages.filter((page) => page >= 0 && page <= last);
}
