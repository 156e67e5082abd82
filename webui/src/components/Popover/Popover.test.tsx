import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { Popover } from "./Popover";
import { useEscape } from "./useEscape";

function Drawer({ onClose }: { onClose: () => void }) {
  useEscape(true, onClose);
  return <p>drawer</p>;
}

function show(onClose = vi.fn()) {
  render(
    <>
      <Drawer onClose={onClose} />
      <Popover label="Columns">
        {(close) => (
          <>
            <input aria-label="Search columns" />
            <button onClick={close}>Apply</button>
          </>
        )}
      </Popover>
      <Popover label="Views">views</Popover>
    </>,
  );
  return onClose;
}

const isOpen = (label: string) => screen.getByText(label).closest("details")?.open;

it("closes by Esc, returns the focus and keeps what was entered", async () => {
  show();
  await userEvent.click(screen.getByText("Columns"));
  expect(isOpen("Columns")).toBe(true);
  await userEvent.type(screen.getByLabelText("Search columns"), "lr{Escape}");
  expect(isOpen("Columns")).toBe(false);
  expect(screen.getByText("Columns")).toHaveFocus();
  await userEvent.click(screen.getByText("Columns"));
  expect(screen.getByLabelText("Search columns")).toHaveValue("lr");
});

it("closes by a click outside, but not by one inside", async () => {
  show();
  await userEvent.click(screen.getByText("Columns"));
  await userEvent.click(screen.getByLabelText("Search columns"));
  expect(isOpen("Columns")).toBe(true);
  await userEvent.click(screen.getByText("Views"));
  expect(isOpen("Columns")).toBe(false);
  expect(isOpen("Views")).toBe(true);
  await userEvent.click(document.body);
  expect(isOpen("Views")).toBe(false);
});

it("closes by the content's own means", async () => {
  show();
  await userEvent.click(screen.getByText("Columns"));
  await userEvent.click(screen.getByText("Apply"));
  expect(isOpen("Columns")).toBe(false);
});

it("closes only what was opened last by Esc", async () => {
  const onClose = show();
  await userEvent.click(screen.getByText("Columns"));
  await userEvent.keyboard("{Escape}");
  expect(onClose).not.toHaveBeenCalled();
  await vi.waitFor(async () => {
    await userEvent.keyboard("{Escape}");
    expect(onClose).toHaveBeenCalled();
  });
});

it("stays open when Esc ends the composition of an input method", () => {
  const onClose = show();
  const press = (isComposing: boolean) =>
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", isComposing }));
  press(true);
  expect(onClose).not.toHaveBeenCalled();
  press(false);
  expect(onClose).toHaveBeenCalled();
});
