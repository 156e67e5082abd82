import { hasSequences, splitSequences, type Sequence } from "./ansi";

// A program moves the cursor up by a few rows only.
const REACH = 30;

/** The parts of a log line that decide where a terminal shows it. */
interface Printed {
  log?: string;
  message?: string;
  rankId?: number;
  stdtype?: string;
  containerId?: string;
}

/** The output of one stream of one rank, with the row in which the cursor is. */
interface Screen {
  /** The index of the line in each row; undefined if it was erased. */
  rows: (number | undefined)[];
  at: number;
  /** Whether lines are missing, so that the cursor cannot move to other rows. */
  hasGaps: boolean;
}

/**
 * Leaves out the lines that a later line of the same rank and stream overwrites on a terminal, as progress bars do:
 * a line that ends in \r stays in its row, and the cursor may move up before or after the text. If the lines have
 * gaps, the cursor stays in its row, because the rows above it are not those of the terminal.
 */
export function foldLines<T extends Printed>(lines: readonly T[], hasGaps = false): readonly T[] {
  const screens = new Screens(hasGaps);
  const hidden = new Set<number>();
  lines.forEach((line, index) => write(screens.of(line), getText(line), index, hidden));
  return hidden.size === 0 ? lines : lines.filter((_, index) => !hidden.has(index));
}

/**
 * Leaves out the lines that are overwritten before the last `recent` ones. The result, and further lines after it,
 * are shown as before: what is left of the earlier lines moves no cursor.
 */
export function dropOverwritten<T extends Printed>(
  lines: readonly T[],
  recent: number,
  hasGaps = false,
): readonly T[] {
  const cuts = findCuts(lines, recent, hasGaps);
  const isEarly = (line: T, index: number) => index < (cuts.get(getStream(line)) ?? 0);
  const screens = new Screens(hasGaps);
  const hidden = new Set<number>();
  lines.forEach((line, index) => {
    if (isEarly(line, index)) write(screens.of(line), getText(line), index, hidden);
  });
  return lines.flatMap((line, index) => {
    if (isEarly(line, index)) {
      if (hidden.has(index)) return [];
      const { rows, at } = screens.of(line);
      const isOpen = rows[at] === index && countRows(rows) === at + 1;
      return [withText(line, (text) => settle(text) + (isOpen ? "\r" : ""))];
    }
    if (index !== cuts.get(getStream(line))) return [line];
    const { rows, at } = screens.of(line);
    const up = countRows(rows) - at;
    return [up > 1 ? withText(line, (text) => `\x1b[${up}A${text}`) : line];
  });
}

/** For each stream the last line, `recent` or more before the end, above which the rows are in the order of the lines. */
function findCuts(lines: readonly Printed[], recent: number, hasGaps: boolean) {
  const cuts = new Map<string, number>();
  const screens = new Screens(hasGaps);
  const hidden = new Set<number>();
  lines.slice(0, Math.max(0, lines.length - recent)).forEach((line, index) => {
    const screen = screens.of(line);
    if (isInOrder(screen)) cuts.set(getStream(line), index);
    write(screen, getText(line), index, hidden);
  });
  return cuts;
}

function isInOrder({ rows, at }: Screen): boolean {
  const end = countRows(rows);
  if (at > end) return false;
  let last = -1;
  for (let row = Math.max(0, at - REACH); row < end; ++row) {
    const index = rows[row];
    if (index === undefined || index < last) return false;
    last = index;
  }
  return true;
}

/** The number of rows without the erased ones at the end. */
function countRows(rows: Screen["rows"]): number {
  let count = rows.length;
  while (count > 0 && rows[count - 1] === undefined) --count;
  return count;
}

// eslint-disable-next-line no-control-regex
const settle = (text: string) => text.replace(/\x1b\[\d*[ABEFJ]|\x1b\[2K|\r$/g, "");

const getText = ({ log, message }: Printed) => log ?? message ?? "";

function withText<T extends Printed>(line: T, change: (text: string) => string): T {
  const before = getText(line);
  const text = change(before);
  return text === before ? line : { ...line, [line.log === undefined ? "message" : "log"]: text };
}

const getStream = ({ rankId, stdtype, containerId }: Printed) =>
  `${rankId ?? ""} ${stdtype ?? ""} ${containerId ?? ""}`;

/** The screen of each stream. */
class Screens {
  private readonly byStream = new Map<string, Screen>();

  constructor(private readonly hasGaps: boolean) {}

  of(line: Printed): Screen {
    const name = getStream(line);
    let screen = this.byStream.get(name);
    if (!screen) {
      screen = { rows: [], at: 0, hasGaps: this.hasGaps };
      this.byStream.set(name, screen);
    }
    return screen;
  }
}

/** Writes a line on a screen; adds the indices of lines that are no longer visible to `hidden`. */
function write(screen: Screen, text: string, index: number, hidden: Set<number>) {
  const { rows } = screen;
  const isLast = screen.at === rows.length;
  const parts = hasSequences(text) ? splitSequences(text) : text ? [text] : [];
  // An empty line leaves the row of the cursor as it is.
  if (parts.length === 0 && !isLast) hidden.add(index);
  else if (parts.length === 0) rows.push(index);
  else {
    const texts = parts.filter((part) => typeof part === "string");
    const hasText = texts.some((part) => part.trim() !== "") || (isLast && parts.length === 1);
    let isPlaced = false;
    for (const part of parts) {
      if (typeof part !== "string") move(screen, part, hidden);
      else if (!isPlaced) {
        isPlaced = true;
        place(screen, hasText, index, hidden);
      }
    }
    if (!isPlaced) hidden.add(index);
  }
  if (!text.endsWith("\r")) screen.at = Math.min(screen.at + 1, rows.length);
}

/** Puts a line into the row of the cursor; a line without text only clears the row. */
function place({ rows, at }: Screen, hasText: boolean, index: number, hidden: Set<number>) {
  const before = rows[at];
  if (before !== undefined) hidden.add(before);
  if (!hasText) hidden.add(index);
  rows[at] = hasText ? index : undefined;
}

function move(screen: Screen, { name, parameters }: Sequence, hidden: Set<number>) {
  const { rows } = screen;
  const count = Math.max(1, parseInt(parameters, 10) || 1);
  const clear = (row: number) => {
    const before = rows[row];
    if (before !== undefined) hidden.add(before);
    rows[row] = undefined;
  };
  if (screen.hasGaps && /^[ABEFJ]$/.test(name)) return;
  if (name === "A" || name === "F") screen.at = Math.max(0, screen.at - count);
  else if (name === "B" || name === "E") screen.at = Math.min(rows.length, screen.at + count);
  else if (name === "K" && parameters === "2") {
    if (screen.at < rows.length) clear(screen.at);
  } else if (name === "J" && (parameters === "" || parameters === "0")) {
    for (let row = screen.at; row < rows.length; ++row) clear(row);
  }
}
