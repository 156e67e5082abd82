import { parseDocument } from "yaml";

/** The YAML syntax errors of a text, one per line; empty if it is valid. */
export function findSyntaxProblems(text: string): string[] {
  return parseDocument(text).errors.map(({ message, linePos }) => {
    const line = linePos?.[0].line;
    return `${line === undefined ? "" : `${line}: `}${message.split("\n")[0] ?? ""}`;
  });
}
