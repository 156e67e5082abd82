import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter } from "react-router";
import { expect, it, vi } from "vitest";
import { TrialPicker } from "./TrialPicker";

it("selects a trial by ID, and the next one", async () => {
  const onChoose = vi.fn();
  render(
    <MemoryRouter>
      <TrialPicker ids={[4, 7, 9]} chosen={7} onChoose={onChoose} />
    </MemoryRouter>,
  );
  expect(screen.getByRole("status")).toHaveTextContent("2 of 3");
  await userEvent.click(screen.getByRole("button", { name: "Next" }));
  expect(onChoose).toHaveBeenLastCalledWith(9);
  const field = screen.getByLabelText("Trial");
  await userEvent.clear(field);
  await userEvent.type(field, "5{Enter}");
  expect(screen.getByRole("status")).toHaveTextContent("No such trial");
  await userEvent.clear(field);
  await userEvent.type(field, "4{Enter}");
  expect(onChoose.mock.calls).toEqual([[9], [4]]);
});
