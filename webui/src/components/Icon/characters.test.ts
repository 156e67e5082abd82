import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

// Letters, and the punctuation and signs that are part of texts and numbers.
const TEXT = /^[\p{ASCII}\p{Letter}–…·∞≠]*$/u;

it("has no characters in place of icons", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) =>
    /^(?!.*\.test\.)(?!api\/generated).*\.(tsx?|css)$/.test(name),
  );
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap((name) =>
    readFileSync(`src/${name}`, "utf8")
      .split("\n")
      .flatMap((line, i) => (TEXT.test(line) ? [] : [`${name}:${i + 1}: ${line.trim()}`])),
  );
  expect(found).toEqual([]);
});
