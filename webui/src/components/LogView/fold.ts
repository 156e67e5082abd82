import { hasSequences, splitSequences, type Sequence } from "./ansi";

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
}

/**
 * Leaves out the lines that a later line of the same rank and stream overwrites on a terminal, as progress bars do:
 * a line that ends in \r stays in its row, and the cursor may move up before or after the text.
 */
export function foldLines<T extends Printed>(lines: readonly T[]): readonly T[] {
  const screens = new Map<string, Screen>();
  const hidden = new Set<number>();
  lines.forEach((line, index) => {
    const name = `${line.rankId ?? ""} ${line.stdtype ?? ""} ${line.containerId ?? ""}`;
    let screen = screens.get(name);
    if (!screen) screens.set(name, (screen = { rows: [], at: 0 }));
    write(screen, line.log ?? line.message ?? "", index, hidden);
  });
  return hidden.size === 0 ? lines : lines.filter((_, index) => !hidden.has(index));
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
  if (name === "A" || name === "F") screen.at = Math.max(0, screen.at - count);
  else if (name === "B" || name === "E") screen.at = Math.min(rows.length, screen.at + count);
  else if (name === "K" && parameters === "2") {
    if (screen.at < rows.length) clear(screen.at);
  } else if (name === "J" && (parameters === "" || parameters === "0")) {
    for (let row = screen.at; row < rows.length; ++row) clear(row);
  }
}
