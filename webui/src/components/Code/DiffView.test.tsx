import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { DiffView } from "./DiffView";

it("shows removed and added lines", () => {
  render(<DiffView before={"a\nb\n"} after={"a\nc\n"} />);
  const text = screen.getByLabelText("2 changed lines").textContent;
  expect(text).toBe("  a\n- b\n+ c\n");
});

it("reports identical texts", () => {
  render(<DiffView before="a" after="a" />);
  expect(screen.getByText("No differences.")).toBeInTheDocument();
});

it("truncates long texts and counts the omitted lines", () => {
  const long = Array.from({ length: 6000 }, (_, i) => `line ${i}`).join("\n");
  render(<DiffView before={`old\n${long}`} after={`new\n${long}`} />);
  expect(screen.getByText(/… and 1,002 more lines/)).toBeInTheDocument();
});

it("shows context around changes and counts unchanged lines", () => {
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
  const after = lines.map((line, i) => (i === 5 || i === 19 ? `new ${i}` : line));
  const text = (list: string[]) => list.join("\n") + "\n";
  render(<DiffView before={text(lines)} after={text(after)} around={1} />);
  expect(screen.getByLabelText("4 changed lines").textContent).toBe(
    [
      "… 4 unchanged lines",
      "  line 4",
      "- line 5",
      "+ new 5",
      "  line 6",
      "… 11 unchanged lines",
      "  line 18",
      "- line 19",
      "+ new 19",
      "",
    ].join("\n"),
  );
});
