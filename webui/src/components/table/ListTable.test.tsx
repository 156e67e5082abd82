import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { expect, test, vi } from "vitest";
import { giveSize } from "@/testing/pages";
import { ListTable, sortRows, type ListColumn } from "./ListTable";

interface Row {
  name: string;
  size?: number;
}

const columns: ListColumn<Row>[] = [
  { head: "Name", cell: ({ name }) => name, sortBy: ({ name }) => name },
  { head: "Size", cell: ({ size }) => size ?? "–", isNumber: true, sortBy: ({ size }) => size },
];
const rows: Row[] = [{ name: "b", size: 10 }, { name: "c" }, { name: "a", size: 9 }];

function show(shown: Row[] | undefined, onEnd?: () => void) {
  giveSize();
  const table = (
    <ListTable<Row>
      label="Things"
      columns={columns}
      rows={shown}
      getId={({ name }) => name}
      {...(onEnd && { onEnd })}
    >
      <p>No things yet.</p>
    </ListTable>
  );
  const router = createMemoryRouter([{ path: "*", element: table }]);
  render(<RouterProvider router={router} />);
  return router;
}

const names = () =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map((row) => row.textContent.charAt(0));

test("sorts numbers numerically and rows without a value last", () => {
  const [, size] = columns;
  const by = (isDescending: boolean) =>
    size && sortRows(rows, size, isDescending).map(({ name }) => name);
  expect(by(false)).toEqual(["a", "b", "c"]);
  expect(by(true)).toEqual(["b", "a", "c"]);
});

test("cycles through ascending, descending and unsorted on clicks, and keeps the sort in the address", async () => {
  const router = show(rows);
  expect(names()).toEqual(["b", "c", "a"]);
  await userEvent.click(screen.getByRole("button", { name: "Name" }));
  expect(names()).toEqual(["a", "b", "c"]);
  expect(screen.getByRole("columnheader", { name: "Name" })).toHaveAttribute(
    "aria-sort",
    "ascending",
  );
  await userEvent.click(screen.getByRole("button", { name: "Name" }));
  expect(names()).toEqual(["c", "b", "a"]);
  expect(router.state.location.search).toBe("?sort=-Name");
  await userEvent.click(screen.getByRole("button", { name: "Name" }));
  expect(router.state.location.search).toBe("");
});

test("renders only visible rows and reports the end", () => {
  const onEnd = vi.fn();
  const many = Array.from({ length: 5000 }, (_, i) => ({ name: String(i) }));
  show(many, onEnd);
  expect(screen.getAllByRole("row").length).toBeLessThan(100);
  expect(screen.getByRole("table")).toHaveAttribute("aria-rowcount", "5001");
  expect(onEnd).not.toHaveBeenCalled();
});

test("requests more rows at once when the list is short", () => {
  const onEnd = vi.fn();
  show(rows, onEnd);
  expect(onEnd).toHaveBeenCalled();
});

test("shows no empty state while loading", () => {
  show(undefined);
  expect(screen.queryByText("No things yet.")).toBeNull();
});

test("shows the next step when the list is empty", () => {
  show([]);
  expect(screen.getByText("No things yet.")).toBeVisible();
});
