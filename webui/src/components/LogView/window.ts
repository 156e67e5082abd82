import type { Message } from "@/api/types";

export type LogLine = Message["TrialLogsResponse"];

/** The lines in memory, in order, and whether they include the log's start and end. */
export interface LogWindow {
  lines: readonly LogLine[];
  hasStart: boolean;
  hasEnd: boolean;
}

/** The maximum number of lines in memory; others are read again when needed. */
export const MAX_LINES = 5000;

export const EMPTY: LogWindow = { lines: [], hasStart: false, hasEnd: false };

const getId = (line: LogLine | undefined) => Number(line?.id ?? 0);

/** Adds older lines at the start; drops lines at the end if there are too many. */
export function prepend(now: LogWindow, older: readonly LogLine[], isAll: boolean): LogWindow {
  const first = getId(now.lines[0]);
  const fresh = now.lines.length > 0 ? older.filter((line) => getId(line) < first) : older;
  const lines = [...fresh, ...now.lines];
  const isTooLong = lines.length > MAX_LINES;
  return {
    lines: isTooLong ? lines.slice(0, MAX_LINES) : lines,
    hasStart: now.hasStart || isAll,
    hasEnd: now.hasEnd && !isTooLong,
  };
}

/** Adds newer lines at the end, without duplicates; drops lines at the start if there are too many. */
export function append(now: LogWindow, newer: readonly LogLine[], isAll: boolean): LogWindow {
  const last = getId(now.lines[now.lines.length - 1]);
  const fresh = newer.filter((line) => getId(line) > last);
  const lines = [...now.lines, ...fresh];
  const isTooLong = lines.length > MAX_LINES;
  return {
    lines: isTooLong ? lines.slice(-MAX_LINES) : lines,
    hasStart: now.hasStart && !isTooLong,
    hasEnd: now.hasEnd || isAll,
  };
}

/** Whether a line has an error level. */
export function isError(line: LogLine | undefined): boolean {
  return line?.level === "LOG_LEVEL_ERROR" || line?.level === "LOG_LEVEL_CRITICAL";
}

/** The index of a line, or of the next visible one; -1 if it is outside the window. */
export function findLine({ lines, hasStart, hasEnd }: LogWindow, id: string): number {
  const target = Number(id);
  const first = lines[0];
  const last = lines[lines.length - 1];
  if (!hasStart && getId(first) > target) return -1;
  if (getId(last) < target) return hasEnd ? lines.length - 1 : -1;
  return lines.findIndex((line) => getId(line) >= target);
}

/**
 * The ID of the first (`isBack`) or last line of the error that a line belongs to. Consecutive error lines
 * are one error; if only errors are shown, each line is one.
 */
export function findErrorEdge(lines: readonly LogLine[], id: string, isBack: boolean): string {
  const at = lines.findIndex((line) => line.id === id);
  if (at < 0 || lines.every(isError)) return id;
  let edge = at;
  while (isError(lines[edge + (isBack ? -1 : 1)])) edge += isBack ? -1 : 1;
  return lines[edge]?.id ?? id;
}
