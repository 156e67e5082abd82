import { parseDocument } from "yaml";
import { api, dataOf } from "@/api/client";
import { ApiError } from "@/api/client";

/** What cannot be read as YAML, a line each; none: it can. */
export function syntaxProblems(text: string): string[] {
  return parseDocument(text).errors.map(({ message, linePos }) => {
    const line = linePos?.[0].line;
    return `${line === undefined ? "" : `${line}: `}${message.split("\n")[0] ?? ""}`;
  });
}

/** Of what the master says of a configuration, what is wrong; what is missing may come from an experiment's own. */
export function withoutMissing(message: string): string[] {
  return message.split("\n").filter((line) => line && !line.includes("required, but missing"));
}

/**
 * What the master finds wrong in a template's text, as it would in an experiment's: its check alone
 * takes no template without keeping it. Empty where the caller may not ask.
 */
export async function masterProblems(
  name: string,
  text: string,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    const body = { config: text, configPath: `template ${name}`, validateOnly: true };
    await dataOf(api.POST("/api/v1/experiments", { body, signal }));
    return [];
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return [];
    if (error instanceof ApiError && error.status === 400) return withoutMissing(error.message);
    throw error;
  }
}
