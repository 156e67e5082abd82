/** How a terminal shows a part of a line: `colour` and `background` are one of its 16 colours. */
export interface TextStyle {
  colour?: number | undefined;
  background?: number | undefined;
  isBold?: boolean;
  isFaint?: boolean;
  isItalic?: boolean;
  isUnderlined?: boolean;
  isStruck?: boolean;
  isInverse?: boolean;
}

/** A part of a line in one style. */
export interface Span {
  text: string;
  style: TextStyle;
}

const PLAIN: TextStyle = {};

// A control sequence (colours, cursor, erasing), a string (titles, links), another escape, or a control character
// other than a tab.
const SEQUENCE =
  // eslint-disable-next-line no-control-regex
  /\x1b\[([0-9:;<=>?]*)[ -/]*([@-~]?)|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?|[\x00-\x08\n-\x1a\x1c-\x1f\x7f]/g;

// eslint-disable-next-line no-control-regex
const HAS_SEQUENCE = /[\x00-\x08\n-\x1f\x7f]/;

/** A control sequence in a line; `name` is its last letter, or a control character. */
export interface Sequence {
  name: string;
  parameters: string;
}

/** Splits a line into its texts and the sequences between them. */
export function splitSequences(line: string): (string | Sequence)[] {
  const parts: (string | Sequence)[] = [];
  let end = 0;
  for (const found of line.matchAll(SEQUENCE)) {
    if (found.index > end) parts.push(line.slice(end, found.index));
    end = found.index + found[0].length;
    const [whole, parameters = "", letter] = found;
    parts.push({ name: letter ?? (whole.length === 1 ? whole : ""), parameters });
  }
  if (end < line.length) parts.push(line.slice(end));
  return parts;
}

/** Whether a line has anything that is not shown as it is. */
export const hasSequences = (line: string) => HAS_SEQUENCE.test(line);

interface Cell {
  text: string;
  style: TextStyle;
}

/** The parts of a line as a terminal shows it: \r and cursor movements overwrite what was written before. */
export function parseAnsi(line: string): Span[] {
  if (!hasSequences(line)) return line ? [{ text: line, style: PLAIN }] : [];
  const cells: Cell[] = [];
  let column = 0;
  let style = PLAIN;
  const move = (to: number) => {
    column = Math.max(0, Math.min(to, MAX_COLUMN));
  };
  for (const part of splitSequences(line)) {
    if (typeof part === "string") {
      for (const text of part) {
        while (cells.length < column) cells.push({ text: " ", style: PLAIN });
        cells[column++] = { text, style };
      }
      continue;
    }
    const count = Math.max(1, parseInt(part.parameters, 10) || 1);
    if (part.name === "m") style = applyStyle(style, part.parameters);
    else if (part.name === "\r") move(0);
    else if (part.name === "\b") move(column - 1);
    else if (part.name === "C") move(column + count);
    else if (part.name === "D") move(column - count);
    else if (part.name === "G") move(count - 1);
    else if (part.name === "K") erase(cells, column, part.parameters);
    // A line that a program sent as several lines is shown as one.
    else if (part.name === "\n") cells[column++] = { text: " ", style };
  }
  return join(cells);
}

// A cursor far to the right is an error of the program.
const MAX_COLUMN = 10_000;

function erase(cells: Cell[], column: number, what: string) {
  if (what === "" || what === "0") cells.length = Math.min(cells.length, column);
  else if (what === "2") cells.length = 0;
  else if (what === "1") {
    for (let i = 0; i <= column && i < cells.length; ++i) cells[i] = { text: " ", style: PLAIN };
  }
}

// More would make a row slow to show.
const MAX_SPANS = 1000;

function join(cells: readonly Cell[]): Span[] {
  const spans: Span[] = [];
  let last: Span | undefined;
  for (const { text, style } of cells) {
    if (last && (last.style === style || spans.length >= MAX_SPANS)) last.text += text;
    else spans.push((last = { text, style }));
  }
  return spans;
}

/** A line without control sequences, as a terminal shows it. */
export function toPlainText(line: string): string {
  if (!hasSequences(line)) return line;
  return parseAnsi(line)
    .map(({ text }) => text)
    .join("");
}

const FLAGS: Record<number, TextStyle> = {
  1: { isBold: true },
  2: { isFaint: true },
  3: { isItalic: true },
  4: { isUnderlined: true },
  7: { isInverse: true },
  9: { isStruck: true },
  21: { isUnderlined: true },
  22: { isBold: false, isFaint: false },
  23: { isItalic: false },
  24: { isUnderlined: false },
  27: { isInverse: false },
  29: { isStruck: false },
  39: { colour: undefined },
  49: { background: undefined },
};

/** Applies the parameters of a sequence "m" (select graphic rendition). */
function applyStyle(before: TextStyle, parameters: string): TextStyle {
  let style = before;
  if (/[<=>?]/.test(parameters)) return before; // settings of the keyboard
  // 4:0 ends an underline.
  const known = parameters.replace(/(?<=^|;)4:0(?=;|$)/g, "24");
  const codes = known
    .replace(/(?<=^|;)4:\d+(?=;|$)/g, "4")
    .split(/[;:]/)
    .map((code) => Number(code || 0));
  for (let i = 0; i < codes.length; ++i) {
    const code = codes[i] ?? 0;
    if (code === 0) style = PLAIN;
    else if (code === 38 || code === 48) {
      const [colour, length] = readColour(codes.slice(i + 1));
      style = { ...style, [code === 38 ? "colour" : "background"]: colour };
      i += length;
    } else if (code === 58) {
      i += readColour(codes.slice(i + 1))[1]; // the colour of an underline
    } else if (code >= 30 && code <= 37) style = { ...style, colour: code - 30 };
    else if (code >= 90 && code <= 97) style = { ...style, colour: code - 90 + 8 };
    else if (code >= 40 && code <= 47) style = { ...style, background: code - 40 };
    else if (code >= 100 && code <= 107) style = { ...style, background: code - 100 + 8 };
    else style = { ...style, ...FLAGS[code] };
  }
  return style;
}

/** Reads "5;N" or "2;R;G;B"; returns the nearest of the 16 colours, and the number of codes read. */
function readColour([kind, ...codes]: readonly number[]): [
  colour: number | undefined,
  length: number,
] {
  if (kind === 5) return [fromPalette(codes[0] ?? 0), 2];
  if (kind === 2) return [findNearest(codes[0] ?? 0, codes[1] ?? 0, codes[2] ?? 0), 4];
  return [undefined, 1];
}

/** One of 256 colours: the 16 ones, a cube of 6 by 6 by 6, and 24 greys. */
function fromPalette(index: number): number {
  if (index < 16) return index;
  if (index >= 232) {
    const grey = (index - 232) * 10 + 8;
    return findNearest(grey, grey, grey);
  }
  const level = (at: number) => [0, 95, 135, 175, 215, 255][at % 6] ?? 0;
  const at = index - 16;
  return findNearest(level(Math.floor(at / 36)), level(Math.floor(at / 6)), level(at));
}

const GREYS = [0, 8, 7, 15];
// The colours in the order of their hues: red, yellow, green, cyan, blue, magenta.
const HUES = [1, 3, 2, 6, 4, 5];

/** The one of the 16 colours with the nearest hue; of the greys the one with the nearest lightness. */
function findNearest(red: number, green: number, blue: number): number {
  const max = Math.max(red, green, blue);
  const range = max - Math.min(red, green, blue);
  if (range < 40) return GREYS[Math.min(3, Math.floor(max / 64))] ?? 7;
  const hue =
    max === red
      ? (green - blue) / range
      : max === green
        ? 2 + (blue - red) / range
        : 4 + (red - green) / range;
  const base = HUES[(Math.round(hue) + 6) % 6] ?? 7;
  return max > 200 ? base + 8 : base;
}
