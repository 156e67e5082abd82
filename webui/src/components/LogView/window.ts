import type { Message } from "@/api/types";

export type LogLine = Message["TrialLogsResponse"];

/** The lines that are in memory, in order, and whether the log's ends are among them. */
export interface LogWindow {
  lines: readonly LogLine[];
  hasStart: boolean;
  hasEnd: boolean;
}

/** So many lines are kept; what lies far from where one looks is read again when it is looked at. */
export const MAX_LINES = 5000;

export const EMPTY: LogWindow = { lines: [], hasStart: false, hasEnd: false };

const getId = (line: LogLine | undefined) => Number(line?.id ?? 0);

/** Older lines, in order, before what is there; lines at the other end go if there are too many. */
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

/** Newer lines, in order, after what is there; a line that is there already is not added again. */
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

/** Whether a line tells of an error. */
export function isError(line: LogLine | undefined): boolean {
  return line?.level === "LOG_LEVEL_ERROR" || line?.level === "LOG_LEVEL_CRITICAL";
}

/** The place of a line, or of the next one that is shown; -1 if that is not among these. */
export function findLine({ lines, hasStart, hasEnd }: LogWindow, id: string): number {
  const wanted = Number(id);
  const first = lines[0];
  const last = lines[lines.length - 1];
  if (!hasStart && getId(first) > wanted) return -1;
  if (getId(last) < wanted) return hasEnd ? lines.length - 1 : -1;
  return lines.findIndex((line) => getId(line) >= wanted);
}

/**
 * The first (`isBack`) or last line of the error that a line belongs to: those of one traceback follow each
 * other. Where errors alone are shown each is one by itself.
 */
export function findErrorEdge(lines: readonly LogLine[], id: string, isBack: boolean): string {
  const at = lines.findIndex((line) => line.id === id);
  if (at < 0 || lines.every(isError)) return id;
  let edge = at;
  while (isError(lines[edge + (isBack ? -1 : 1)])) edge += isBack ? -1 : 1;
  return lines[edge]?.id ?? id;
}
