import { streamMessages } from "@/api/messages";
import { formatLocalTime } from "@/format";
import { toPlainText } from "./ansi";
import { logPath, NO_FILTERS } from "./filters";
import { foldLines } from "./fold";
import type { LogLine } from "./window";

/** Reads the log at `path` as plain text: with times and ranks, without colours and overwritten lines. */
export async function readText(
  path: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<Blob> {
  const lines: LogLine[] = [];
  let bytes = 0;
  for await (const line of streamMessages<LogLine>(logPath(path, NO_FILTERS, {}), signal)) {
    lines.push(line);
    bytes += line.log?.length ?? 0;
    if (lines.length % 1000 === 0) onBytes(bytes);
  }
  return new Blob(foldLines(lines).map(formatLine), { type: "text/plain;charset=utf-8" });
}

function formatLine({ timestamp, rankId, log, message }: LogLine): string {
  const rank = rankId === undefined ? "" : `[rank=${rankId}] `;
  return `${formatLocalTime(timestamp)} ${rank}${toPlainText(log ?? message ?? "")}\n`;
}
