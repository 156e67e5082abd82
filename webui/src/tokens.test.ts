import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

// CSS cannot say "where the system asks for it, or the user did": the dark table stands there twice.
const css = readFileSync("src/tokens.css", "utf8");

test("dark is the same by choice and by the system", () => {
  const tables = [
    ...css.matchAll(/:root(?::not\(\[data-theme="light"\]\)|\[data-theme="dark"\]) \{([^}]*)\}/g),
  ];
  const lines = tables.map(([, table]) => table?.trim().split(/\s*\n\s*/));
  expect(lines).toHaveLength(2);
  expect(lines[0]?.length).toBeGreaterThan(10);
  expect(lines[0]).toEqual(lines[1]);
});
