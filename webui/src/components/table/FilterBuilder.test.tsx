import { useState } from "react";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { toDraft, emptyGroup, toFilter } from "./draft";
import { parseFilter, type FilterColumn } from "./filter";
import { FilterBuilder } from "./FilterBuilder";
import { toSentence } from "./sentence";

const COLUMNS: FilterColumn[] = [
  { column: "state", type: "COLUMN_TYPE_TEXT", displayName: "State" },
  { column: "startTime", type: "COLUMN_TYPE_DATE", displayName: "Start Time" },
  { column: "tags", type: "COLUMN_TYPE_ARRAY", displayName: "Tags" },
  { column: "hp.lr", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "hp.layers", type: "COLUMN_TYPE_NUMBER", displayName: "" },
];

/** A builder that begins with a sentence; what it says is read off the page. */
function Whole({ begin }: { begin: string }) {
  const [draft, setDraft] = useState(() =>
    begin ? toDraft(parseFilter(begin, COLUMNS)) : emptyGroup(),
  );
  return (
    <>
      <FilterBuilder
        group={draft}
        onChange={setDraft}
        columns={COLUMNS}
        suggestValues={(column) => (column === "state" ? ["running", "paused"] : [])}
      />
      <output>{toSentence(toFilter(draft, COLUMNS))}</output>
    </>
  );
}
const show = (begin = "") => render(<Whole begin={begin} />);
const said = () => screen.getByRole("status").textContent;
const inside = (name: string) => within(screen.getByRole("group", { name }));

it("is put together by keys alone: conditions, and groups in groups", async () => {
  show();
  screen.getByRole("button", { name: "Add condition" }).focus();
  await userEvent.keyboard("{Enter}");
  // One goes on with what was added.
  expect(screen.getByLabelText("Column")).toHaveFocus();
  await userEvent.keyboard("lr{Enter}");
  expect(screen.getByLabelText("Column")).toHaveValue("hp.lr");
  expect(said()).toBe("");
  await userEvent.tab();
  expect(screen.getByLabelText("Operator")).toHaveFocus();
  await userEvent.selectOptions(screen.getByLabelText("Operator"), "<=");
  await userEvent.tab();
  await userEvent.keyboard("0.01{Enter}");
  expect(said()).toBe("hp.lr <= 0.01");

  screen.getByRole("button", { name: "Add group" }).focus();
  await userEvent.keyboard("{Enter}");
  const group = inside("Any condition matches");
  expect(group.getByLabelText("Column")).toHaveFocus();
  await userEvent.keyboard("state{Enter}");
  await userEvent.type(group.getByLabelText("Value"), "running{Enter}");
  expect(said()).toBe("hp.lr <= 0.01 and state is running");
  group.getByRole("button", { name: "Add condition" }).focus();
  await userEvent.keyboard("{Enter}tags{Enter}");
  await userEvent.type(inside("Tags").getByLabelText("Value"), "x y{Enter}");
  expect(said()).toBe('hp.lr <= 0.01 and (state is running or tags contains "x y")');
});

it("offers the operators of the column's type, and keeps one that fits", async () => {
  show("lr > 1");
  const operators = () =>
    [...screen.getByLabelText("Operator").querySelectorAll("option")].map((each) => each.text);
  expect(operators()).toEqual(["<", "<=", ">", ">=", "=", "!=", "is empty", "is not empty"]);
  const column = screen.getByLabelText("Column");
  await userEvent.clear(column);
  await userEvent.type(column, "layers{Enter}");
  expect(said()).toBe("hp.layers > 1");
  await userEvent.clear(column);
  await userEvent.type(column, "tags{Enter}");
  expect(operators()).toEqual(["contains", "does not contain", "is empty", "is not empty"]);
  expect(said()).toBe("tags contains 1");
  await userEvent.selectOptions(screen.getByLabelText("Operator"), "isEmpty");
  expect(screen.queryByLabelText("Value")).toBeNull();
  expect(said()).toBe("tags is empty");
});

it("suggests columns that contain what is typed, and values", async () => {
  show();
  await userEvent.click(screen.getByRole("button", { name: "Add condition" }));
  const suggestions = (label: string) => {
    const list = screen.getByLabelText(label).getAttribute("list") ?? "";
    return [...(document.getElementById(list)?.querySelectorAll("option") ?? [])].map(
      ({ value }) => value,
    );
  };
  await userEvent.type(screen.getByLabelText("Column"), "hp");
  expect(suggestions("Column")).toEqual(["hp.lr", "hp.layers"]);
  await userEvent.clear(screen.getByLabelText("Column"));
  // One that is taken from the list is there at once.
  await userEvent.type(screen.getByLabelText("Column"), "state");
  expect(suggestions("Value")).toEqual(["running", "paused"]);
  await userEvent.type(screen.getByLabelText("Value"), "paused");
  expect(said()).toBe("state is paused");
});

it("ignores invalid conditions and marks them", async () => {
  show("lr > 1 and state is running");
  const value = inside("hp.lr").getByLabelText("Value");
  await userEvent.clear(value);
  await userEvent.type(value, "many{Enter}");
  expect(value).toHaveAttribute("aria-invalid", "true");
  expect(said()).toBe("state is running");
  const column = inside("State").getByLabelText("Column");
  await userEvent.clear(column);
  await userEvent.type(column, "colour{Enter}");
  expect(column).toHaveAttribute("aria-invalid", "true");
  expect(said()).toBe("");
});

it("takes away a condition, a group and all that is in it, and says which must hold", async () => {
  show("lr > 1 and (state is running or (tags contains a and lr < 9))");
  await userEvent.click(inside("Tags").getByRole("button", { name: "Remove Tags" }));
  expect(said()).toBe("hp.lr > 1 and (state is running or hp.lr < 9)");
  await userEvent.selectOptions(screen.getAllByLabelText("Match")[0] as Element, "or");
  expect(said()).toBe("hp.lr > 1 or (state is running or hp.lr < 9)");
  await userEvent.click(screen.getAllByRole("button", { name: "Remove group" })[0] as Element);
  expect(said()).toBe("hp.lr > 1");
});
