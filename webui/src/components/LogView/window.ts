import type { Message } from "@/api/types";
import { dropOverwritten } from "./fold";

export type LogLine = Message["TrialLogsResponse"];

/** The lines in memory, in order, and whether they include the log's start and end. */
export interface LogWindow {
  lines: readonly LogLine[];
  hasStart: boolean;
  hasEnd: boolean;
  /** The IDs of the first and the last line that were read; overwritten lines may have been dropped. */
  first: string | undefined;
  last: string | undefined;
}

/** The maximum number of lines in memory; others are read again when needed. */
export const MAX_LINES = 5000;

// The last lines stay as they are.
const RECENT = 500;

export const EMPTY: LogWindow = makeWindow([], false, false);

/** A window with lines that were read together. */
export function makeWindow(
  lines: readonly LogLine[],
  hasStart: boolean,
  hasEnd: boolean,
): LogWindow {
  return { lines, hasStart, hasEnd, first: lines[0]?.id, last: lines.at(-1)?.id };
}

/** Drops overwritten lines if there are too many lines. */
const shorten = (lines: readonly LogLine[], hasGaps: boolean) =>
  lines.length > MAX_LINES ? dropOverwritten(lines, RECENT, hasGaps) : lines;

const getId = (line: LogLine | undefined) => Number(line?.id ?? 0);

/** Adds older lines at the start; drops lines at the end if there are too many. */
export function prepend(
  now: LogWindow,
  older: readonly LogLine[],
  isAll: boolean,
  hasGaps = false,
): LogWindow {
  const first = Number(now.first ?? Infinity);
  const fresh = older.filter((line) => getId(line) < first);
  const lines = shorten([...fresh, ...now.lines], hasGaps);
  const isTooLong = lines.length > MAX_LINES;
  const kept = isTooLong ? lines.slice(0, MAX_LINES) : lines;
  return {
    lines: kept,
    hasStart: now.hasStart || isAll,
    hasEnd: now.hasEnd && !isTooLong,
    first: fresh[0]?.id ?? now.first,
    last: isTooLong ? kept.at(-1)?.id : (now.last ?? fresh.at(-1)?.id),
  };
}

/** Adds newer lines at the end, without duplicates; drops lines at the start if there are too many. */
export function append(
  now: LogWindow,
  newer: readonly LogLine[],
  isAll: boolean,
  hasGaps = false,
): LogWindow {
  const last = Number(now.last ?? 0);
  const fresh = newer.filter((line) => getId(line) > last);
  const lines = shorten([...now.lines, ...fresh], hasGaps);
  const isTooLong = lines.length > MAX_LINES;
  const kept = isTooLong ? lines.slice(-MAX_LINES) : lines;
  return {
    lines: kept,
    hasStart: now.hasStart && !isTooLong,
    hasEnd: now.hasEnd || isAll,
    first: isTooLong ? kept[0]?.id : (now.first ?? fresh[0]?.id),
    last: fresh.at(-1)?.id ?? now.last,
  };
}

/** Whether a line has an error level. */
export function isError(line: LogLine | undefined): boolean {
  return line?.level === "LOG_LEVEL_ERROR" || line?.level === "LOG_LEVEL_CRITICAL";
}

/** The index among `visible` of a line, or of the next visible one; -1 if it is outside the window. */
export function findLine(
  { first, last, hasStart, hasEnd, lines }: LogWindow,
  id: string,
  visible: readonly LogLine[] = lines,
): number {
  const target = Number(id);
  if (!hasStart && Number(first ?? 0) > target) return -1;
  if (!hasEnd && Number(last ?? 0) < target) return -1;
  const at = visible.findIndex((line) => getId(line) >= target);
  return at < 0 ? visible.length - 1 : at;
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
