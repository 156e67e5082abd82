import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { DiffView } from "./DiffView";

it("shows what is gone and what is new", () => {
  render(<DiffView before={"a\nb\n"} after={"a\nc\n"} />);
  const text = screen.getByLabelText("2 lines differ").textContent;
  expect(text).toBe("  a\n- b\n+ c\n");
});

it("says so where nothing differs", () => {
  render(<DiffView before="a" after="a" />);
  expect(screen.getByText("No difference.")).toBeInTheDocument();
});

it("shows the first lines of long texts, and how many are left out", () => {
  const long = Array.from({ length: 6000 }, (_, i) => `line ${i}`).join("\n");
  render(<DiffView before={`old\n${long}`} after={`new\n${long}`} />);
  expect(screen.getByText(/… and 1002 more lines/)).toBeInTheDocument();
});
