import { parseDocument } from "yaml";

/** What cannot be read as YAML, a line each; none: it can. */
export function syntaxProblems(text: string): string[] {
  return parseDocument(text).errors.map(({ message, linePos }) => {
    const line = linePos?.[0].line;
    return `${line === undefined ? "" : `${line}: `}${message.split("\n")[0] ?? ""}`;
  });
}
