/** What was typed with commas between. */
export function parseList(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);
}

/** The same of a field that may be left as it is: nothing then. */
export const parseOptionalList = (text: string | undefined) =>
  text === undefined ? undefined : parseList(text);

/** "1 trial", "2 trials". */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
