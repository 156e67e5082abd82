import { expect, it } from "vitest";
import { formatCount, quote } from "./text";

it.each([
  ["vision", "vision"],
  ["a b", "'a b'"],
  ["it's", "'it'\\''s'"],
  ["", "''"],
  ["$(reboot)", "'$(reboot)'"],
])("quotes %j for a shell as %s", (word, quoted) => {
  expect(quote(word)).toBe(quoted);
});

it("counts nouns with another plural", () => {
  expect(formatCount(1, "batch", "batches")).toBe("1 batch");
  expect(formatCount(3, "batch", "batches")).toBe("3 batches");
});

it.each([
  [0, "0 trials"],
  [1, "1 trial"],
  [2, "2 trials"],
  [1234, "1,234 trials"],
])("counts %i", (count, text) => {
  expect(formatCount(count, "trial")).toBe(text);
});
