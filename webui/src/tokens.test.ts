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
