/** Parses IDs from a text ("7, 12") without duplicates; ignores anything else. */
export function parseIds(text: string): number[] {
  return [...new Set(text.split(/[\s,]+/).map(Number))].filter((id) => id > 0);
}
