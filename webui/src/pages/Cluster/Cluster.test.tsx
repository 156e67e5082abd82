import { render, screen, within } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { expect, test } from "vitest";
import { Agents } from "./Agents";
import { Queue } from "./Queue";

const slot = (id: string, more = {}) => ({ id, enabled: true, device: { brand: "A100" }, ...more });

test("each slot says what it does", () => {
  const slots = {
    "0": slot("0", { container: { id: "7.9.1" } }),
    "1": slot("1"),
    "2": slot("2", { enabled: false, reason: "too hot" }),
  };
  render(<Agents agents={[{ id: "node-1", connected: true, enabled: true, slots }]} />);
  const list = within(screen.getByRole("list", { name: "Slots of node-1" }));
  expect(list.getAllByRole("listitem").map((item) => item.title)).toEqual([
    "slot 0, A100: 7.9.1",
    "slot 1, A100: free",
    "slot 2, A100: too hot",
  ]);
  expect(screen.getByText("1 / 3")).toBeVisible();
});

test("an agent that is away says so", () => {
  render(<Agents agents={[{ id: "n", connected: false, resourcePools: ["gpu"], slots: {} }]} />);
  expect(screen.getByText("gpu · away")).toBeVisible();
});

test("who waits says for what", () => {
  const job = { jobId: "j", entityId: "7", name: "big", requestedSlots: 8, allocatedSlots: 0 };
  render(
    <MemoryRouter>
      <Queue
        jobs={[{ ...job, summary: { state: "STATE_QUEUED" }, reason: "needs 8, 2 are free" }]}
      />
    </MemoryRouter>,
  );
  expect(screen.getByRole("link", { name: "7 big" })).toHaveAttribute("href", "/experiments/7");
  expect(screen.getByText("needs 8, 2 are free")).toBeVisible();
  expect(screen.getByText("Queued")).toBeVisible();
});

test("an empty cluster says what to do", () => {
  render(<Agents agents={[]} />);
  render(<Queue jobs={[]} />);
  expect(screen.getByText(/No agent/)).toBeVisible();
  expect(screen.getByText(/Nothing runs/)).toBeVisible();
});
