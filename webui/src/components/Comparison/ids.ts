/** The ids in a text ("7, 12"), each once; what is none is left out. */
export function parseIds(text: string): number[] {
  return [...new Set(text.split(/[\s,]+/).map(Number))].filter((id) => id > 0);
}
