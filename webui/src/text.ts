/** Splits a comma-separated list. */
export function parseList(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);
}

/** Same as parseList, but undefined for an unchanged field. */
export const parseOptionalList = (text: string | undefined) =>
  text === undefined ? undefined : parseList(text);

/** Quotes a word of a command for a shell, if needed. */
export const quote = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Formats a count with its noun: "1 trial", "2 trials", "2 batches". */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}
