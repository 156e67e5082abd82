import { fireEvent, render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { CopyText } from "./CopyText";

it("copies without the clipboard API", async () => {
  let copied = "";
  const execCommand = () => {
    copied = (document.activeElement as HTMLTextAreaElement).value;
    return true;
  };
  // jsdom has neither execCommand nor a clipboard.
  Object.assign(document, { execCommand });
  render(<CopyText text="det experiment list" label="list" />);
  const button = screen.getByRole("button");
  button.focus();
  fireEvent.click(button);
  expect(await screen.findByText("Copied")).toBeInTheDocument();
  expect(copied).toBe("det experiment list");
  expect(button).toHaveFocus();
});
