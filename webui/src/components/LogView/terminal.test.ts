import { expect, it } from "vitest";
import { parseAnsi, toPlainText } from "./ansi";
import { foldLines } from "./fold";
import type { LogLine } from "./window";
import { append, EMPTY, MAX_LINES, prepend } from "./window";

// What tqdm 4.67 and rich 14.2 print: the bars are shortened.
const TQDM =
  "\repoch 1:   0%|    | 0/4 [00:00<?, ?it/s]\repoch 1:  50%|██  | 2/4 [00:00<00:00, 49.37it/s]" +
  "\repoch 1: 100%|████| 4/4 [00:00<00:00, 49.03it/s]\ndone\n";
const NESTED_TQDM =
  "\repochs:   0%|    | 0/2 [00:00<?, ?it/s]\n\rbatches:   0%|    | 0/2 [00:00<?, ?it/s]\x1b[A" +
  "\n\rbatches: 100%|████| 2/2 [00:00<00:00, 44.19it/s]\x1b[A\n\r                      \x1b[A" +
  "\repochs:  50%|██  | 1/2 [00:00<00:00, 22.19it/s]\n\rbatches:   0%|    | 0/2 [00:00<?, ?it/s]\x1b[A" +
  "\n\rbatches: 100%|████| 2/2 [00:00<00:00, 47.28it/s]\x1b[A\n\r                      \x1b[A" +
  "\repochs: 100%|████| 2/2 [00:00<00:00, 22.97it/s]\repochs: 100%|████| 2/2 [00:00<00:00, 22.83it/s]\ndone\n";
const RICH =
  "\x1b[1;31mloss\x1b[0m \x1b[1;38;2;0;255;136m0.25\x1b[0m " +
  "\x1b]8;id=14803957;https://example.org\x1b\\docs\x1b]8;;\x1b\\ \x1b[37;44m ok \x1b[0m\n";
const RICH_PROGRESS =
  "\x1b[?25l\r\x1b[2Ktrain \x1b[90m━━━━\x1b[0m \x1b[35m  0%\x1b[0m" +
  "\r\x1b[2Ktrain \x1b[90m━━━━\x1b[0m \x1b[35m  0%\x1b[0m\nvalid \x1b[90m━━━━\x1b[0m \x1b[35m  0%\x1b[0m" +
  "\r\x1b[2K\x1b[1A\x1b[2Ktrain \x1b[91m━━\x1b[0m\x1b[90m╺━\x1b[0m \x1b[35m 50%\x1b[0m\nvalid \x1b[91m━━\x1b[0m\x1b[90m╺━\x1b[0m \x1b[35m 50%\x1b[0m" +
  "\r\x1b[2K\x1b[1A\x1b[2Ktrain \x1b[90m━━━━\x1b[0m \x1b[35m100%\x1b[0m\nvalid \x1b[90m━━━━\x1b[0m \x1b[35m100%\x1b[0m\n\x1b[?25hdone\n";

/** The log lines of an output, as the agent splits it: a line ends in \n, or keeps the \r that ends it. */
const toLines = (output: string, more: Partial<LogLine> = {}, first = 1): LogLine[] =>
  (output.match(/[^\r\n]+(\r|$)|[^\r\n]*\n/g) ?? []).map((text, i) => ({
    id: String(first + i),
    log: text.replace(/\n$/, ""),
    ...more,
  }));
const show = (lines: readonly LogLine[]) =>
  foldLines(lines).map(({ log }) => toPlainText(log ?? "").trimEnd());

it.each([
  ["tqdm", TQDM, ["epoch 1: 100%|████| 4/4 [00:00<00:00, 49.03it/s]", "done"]],
  ["nested bars of tqdm", NESTED_TQDM, ["epochs: 100%|████| 2/2 [00:00<00:00, 22.83it/s]", "done"]],
  ["rich", RICH, ["loss 0.25 docs  ok"]],
  ["a progress display of rich", RICH_PROGRESS, ["train ━━━━ 100%", "valid ━━━━ 100%", "done"]],
])("shows the output of %s as a terminal does", (_, output, shown) => {
  expect(show(toLines(output))).toEqual(shown);
});

it("keeps the current state of a bar that has not ended", () => {
  expect(show(toLines("a\n10%\r20%\r"))).toEqual(["a", "20%"]);
});

it("overwrites only lines of the same rank and stream", () => {
  const at = (id: number, log: string, rankId: number, stdtype = "stderr"): LogLine => ({
    id: String(id),
    log,
    rankId,
    stdtype,
  });
  const lines = [
    at(1, "0: 10%\r", 0),
    at(2, "1: 10%\r", 1),
    at(3, "step 1", 0, "stdout"),
    at(4, "0: 20%\r", 0),
    at(5, "\x1b[Aup", 1, "stdout"),
  ];
  expect(show(lines)).toEqual(["1: 10%", "step 1", "0: 20%", "up"]);
});

it("keeps lines that are equal, empty or indented", () => {
  const text = "a\na\n\n  \n  b\n\n";
  expect(foldLines(toLines(text)).map(({ log }) => log)).toEqual(["a", "a", "", "  ", "  b", ""]);
});

it("shows colours and weights, and no sequence", () => {
  const [loss, , value, , ok] = parseAnsi(RICH.trimEnd());
  expect(loss).toEqual({ text: "loss", style: { isBold: true, colour: 1 } });
  // The nearest of the 16 colours.
  expect(value).toEqual({ text: "0.25", style: { isBold: true, colour: 14 } });
  expect(ok).toEqual({ text: " ok ", style: { colour: 7, background: 4 } });
  expect(parseAnsi("\x1b[38;5;196mred\x1b[39m plain\x1b[K")).toEqual([
    { text: "red", style: { colour: 9 } },
    { text: " plain", style: { colour: undefined } },
  ]);
  expect(parseAnsi("\x1b[4mu\x1b[24;9ms\x1b[29;7mi").map(({ style }) => style)).toEqual([
    { isUnderlined: true },
    { isUnderlined: false, isStruck: true },
    { isUnderlined: false, isStruck: false, isInverse: true },
  ]);
});

it("ignores private parameters, shapes and colours of underlines, and limits the parts of a row", () => {
  const style = (codes: string) => parseAnsi(`\x1b[${codes}mx`)[0]?.style;
  expect(style(">4;2")).toEqual({});
  expect(style("?1")).toEqual({});
  expect(style("4:0")).toEqual({ isUnderlined: false });
  expect(style("1;4:3")).toEqual({ isBold: true, isUnderlined: true });
  expect(style("58;2;1;31;7")).toEqual({});
  expect(style("58;5;1;3")).toEqual({ isItalic: true });
  const many = parseAnsi("\x1b[1mx\x1b[2mx".repeat(5000));
  expect(many).toHaveLength(1000);
  expect(many.map(({ text }) => text).join("")).toHaveLength(10_000);
});

it.each([
  ["10%\r20%", "20%"],
  ["100%\r20%", "20%%"],
  ["long\r\x1b[Kab", "ab"],
  ["ab\b\bc", "cb"],
  ["a\x1b[3Cb", "a   b"],
  ["\x1b]0;title\x07text", "text"],
  ["\x1b[?25l\x1b[2J\x1b[Htext\x07", "text"],
  ["tab\tkept", "tab\tkept"],
  ["cut off \x1b[3", "cut off "],
  ["\x1b[999999999Gx\x1b[2K", ""],
])("prints %j as %j", (line, shown) => {
  expect(toPlainText(line)).toBe(shown);
});

it("drops overwritten lines when a window is full, and knows what it has read", () => {
  const bar = (first: number, count: number) =>
    toLines(
      Array.from({ length: count }, (_, i) => `${i}\r`).join(""),
      { stdtype: "stderr" },
      first,
    );
  const begin = append(EMPTY, toLines("start\n", { stdtype: "stderr" }), true);
  const full = append(begin, bar(2, MAX_LINES + 100), true);
  expect(full.lines.length).toBeLessThan(MAX_LINES);
  expect(show(full.lines)).toEqual(["start", String(MAX_LINES + 99)]);
  expect(full).toMatchObject({ first: "1", last: String(MAX_LINES + 101) });
  const late = append(EMPTY, bar(MAX_LINES, MAX_LINES), true);
  const older = prepend(late, [...toLines("start\n", { stdtype: "stderr" }), ...bar(2, 998)], true);
  expect(show(older.lines)).toEqual(["start", String(MAX_LINES - 1)]);
  expect(older).toMatchObject({ hasStart: true, hasEnd: true, first: "1" });
});

const numbered = (count: number, name = "line") =>
  Array.from({ length: count }, (_, i) => `${name} ${i}\n`).join("");

/** Adds lines to a window by portions, as they arrive. */
function appendAll(lines: readonly LogLine[], portion: number) {
  let window = EMPTY;
  for (let i = 0; i < lines.length; i += portion)
    window = append(window, lines.slice(i, i + portion), true);
  return window;
}

it("keeps what is visible when overwritten lines are dropped again and again", () => {
  const bar = Array.from({ length: 1500 }, (_, i) => `${i}%\r`).join("");
  const lines = toLines(numbered(10, "first") + RICH_PROGRESS + numbered(4400) + bar);
  const window = appendAll(lines, 100);
  expect(window.lines.length).toBeLessThan(MAX_LINES);
  expect(show(window.lines)).toEqual(show(lines));
  expect(show(window.lines).slice(0, 12)).toEqual([
    ...Array.from({ length: 10 }, (_, i) => `first ${i}`),
    "train ━━━━ 100%",
    "valid ━━━━ 100%",
  ]);
});

it.each([
  ["a display of two rows", (i: number) => `\x1b[2K\x1b[1A\x1b[2Kouter ${i}\ninner ${i}\r`],
  [
    "nested bars with a rarely printed outer one",
    (i: number) => `${i % 700 === 0 ? `\x1b[Aouter ${i}\n` : ""}inner ${i}\r`,
  ],
])("keeps the lines before %s that runs for long", (_, draw) => {
  const updates = Array.from({ length: 8000 }, (_, i) => draw(i)).join("");
  const lines = toLines(`${numbered(10, "first")}outer\ninner\r${updates}`);
  const window = appendAll(lines, 250);
  expect(show(window.lines)).toEqual(show(lines));
  expect(window.lines.length).toBeLessThan(MAX_LINES);
});

it("moves no cursor up where lines are missing", () => {
  const lines = toLines("loss a\nloss b\n1%\r2%\r\x1b[2A\x1b[Jloss c\n");
  expect(foldLines(lines).map(({ log }) => toPlainText(log ?? ""))).toEqual(["loss c"]);
  const found = foldLines(lines, true).map(({ log }) => toPlainText(log ?? ""));
  expect(found).toEqual(["loss a", "loss b", "loss c"]);
  const many = toLines(numbered(4400) + "1%\r".repeat(600) + "\x1b[20Aloss\n");
  const window = append(EMPTY, many, true, true);
  expect(foldLines(window.lines, true)).toHaveLength(4401);
  expect(window.lines.length).toBeLessThan(4910);
});
