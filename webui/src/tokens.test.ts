import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

// CSS cannot share a rule between a media query and a selector, so the dark table is written twice.
const css = readFileSync("src/tokens.css", "utf8");

test("has the same dark colours when chosen and when set by the system", () => {
  const tables = [
    ...css.matchAll(/:root(?::not\(\[data-theme="light"\]\)|\[data-theme="dark"\]) \{([^}]*)\}/g),
  ];
  const lines = tables.map(([, table]) => table?.trim().split(/\s*\n\s*/));
  expect(lines).toHaveLength(2);
  expect(lines[0]?.length).toBeGreaterThan(10);
  expect(lines[0]).toEqual(lines[1]);
});

/** The colours of a table, by name. */
const readColours = (table: string | undefined) =>
  new Map(
    [...(table ?? "").matchAll(/--([\w-]+): #(\w{6});/g)].map(([, name = "", hex = ""]) => [
      name,
      [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)),
    ]),
  );

const luminance = (colour: readonly number[]) =>
  colour
    .map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, i) => sum + each * ([0.2126, 0.7152, 0.0722][i] ?? 0), 0);

function getContrast(first: readonly number[], second: readonly number[]): number {
  const [dark = 0, light = 0] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

test.each([
  ["light", /:root \{([^}]*)\}/],
  ["dark", /:root\[data-theme="dark"\] \{([^}]*)\}/],
])("has a terminal's colours that can be read on a log's background: %s", (_, pattern) => {
  const colours = readColours(pattern.exec(css)?.[1]);
  const raised = colours.get("raised") ?? [];
  const mix = (name: string, share: number) =>
    raised.map((each, i) => each * (1 - share) + (colours.get(name)?.[i] ?? 0) * share);
  const text = colours.get("text") ?? [];
  for (let i = 0; i < 16; ++i) {
    const name = `ansi-${i}`;
    const colour = colours.get(name) ?? [];
    expect(getContrast(colour, raised), name).toBeGreaterThan(4.5);
    // The selected line, and a background of this colour, as LogView.module.css mixes them.
    expect(getContrast(colour, mix("failed", 0.1)), name).toBeGreaterThan(4.5);
    expect(getContrast(text, mix(name, 0.16)), `text on ${name}`).toBeGreaterThan(4.5);
  }
});
