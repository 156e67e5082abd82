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

/** A builder with an initial sentence that shows its current sentence. */
function Whole({ begin }: { begin: string }) {
  const [draft, setDraft] = useState(() =>
    begin ? toDraft(parseFilter(begin, COLUMNS), COLUMNS) : emptyGroup(),
  );
  return (
    <>
      <FilterBuilder
        group={draft}
        onChange={setDraft}
        columns={COLUMNS}
        suggestValues={(column) => (column === "state" ? ["running", "paused"] : [])}
      />
      <output>{toSentence(toFilter(draft, COLUMNS), COLUMNS)}</output>
    </>
  );
}
const show = (begin = "") => render(<Whole begin={begin} />);
const getSentence = () => screen.getByRole("status").textContent;
const inside = (name: string) => within(screen.getByRole("group", { name }));

it("adds conditions and nested groups by keyboard alone", async () => {
  show();
  screen.getByRole("button", { name: "Add condition" }).focus();
  await userEvent.keyboard("{Enter}");
  // The added condition has the focus.
  expect(screen.getByLabelText("Column")).toHaveFocus();
  await userEvent.keyboard("lr{Enter}");
  expect(screen.getByLabelText("Column")).toHaveValue("hp.lr");
  expect(getSentence()).toBe("");
  await userEvent.tab();
  expect(screen.getByLabelText("Operator")).toHaveFocus();
  await userEvent.selectOptions(screen.getByLabelText("Operator"), "<=");
  await userEvent.tab();
  await userEvent.keyboard("0.01{Enter}");
  expect(getSentence()).toBe("hp.lr <= 0.01");

  screen.getByRole("button", { name: "Add group" }).focus();
  await userEvent.keyboard("{Enter}");
  const group = inside("Any condition matches");
  expect(group.getByLabelText("Column")).toHaveFocus();
  await userEvent.keyboard("state{Enter}");
  await userEvent.type(group.getByLabelText("Value"), "running{Enter}");
  expect(getSentence()).toBe("hp.lr <= 0.01 and state is running");
  group.getByRole("button", { name: "Add condition" }).focus();
  await userEvent.keyboard("{Enter}tags{Enter}");
  await userEvent.type(inside("Tags").getByLabelText("Value"), "x y{Enter}");
  expect(getSentence()).toBe('hp.lr <= 0.01 and (state is running or tags contains "x y")');
});

it("offers the operators of the column's type and keeps an applicable one", async () => {
  show("lr > 1");
  const operators = () =>
    [...screen.getByLabelText("Operator").querySelectorAll("option")].map((each) => each.text);
  expect(operators()).toEqual(["<", "<=", ">", ">=", "=", "!=", "is empty", "is not empty"]);
  const column = screen.getByLabelText("Column");
  await userEvent.clear(column);
  await userEvent.type(column, "layers{Enter}");
  expect(getSentence()).toBe("hp.layers > 1");
  await userEvent.clear(column);
  await userEvent.type(column, "tags{Enter}");
  expect(operators()).toEqual(["contains", "does not contain", "is empty", "is not empty"]);
  expect(getSentence()).toBe("tags contains 1");
  await userEvent.selectOptions(screen.getByLabelText("Operator"), "isEmpty");
  expect(screen.queryByLabelText("Value")).toBeNull();
  expect(getSentence()).toBe("tags is empty");
});

it("suggests columns that contain the typed text, and values", async () => {
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
  // A suggestion applies without Enter.
  await userEvent.type(screen.getByLabelText("Column"), "state");
  expect(suggestions("Value")).toEqual(["running", "paused"]);
  await userEvent.type(screen.getByLabelText("Value"), "paused");
  expect(getSentence()).toBe("state is paused");
});

it("ignores invalid conditions and marks them", async () => {
  show("lr > 1 and state is running");
  const value = inside("hp.lr").getByLabelText("Value");
  await userEvent.clear(value);
  await userEvent.type(value, "many{Enter}");
  expect(value).toHaveAttribute("aria-invalid", "true");
  expect(getSentence()).toBe("state is running");
  const column = inside("State").getByLabelText("Column");
  await userEvent.clear(column);
  await userEvent.type(column, "colour{Enter}");
  expect(column).toHaveAttribute("aria-invalid", "true");
  expect(getSentence()).toBe("");
});

it("removes a condition or a group with its content, and switches between all and any", async () => {
  show("lr > 1 and (state is running or (tags contains a and lr < 9))");
  await userEvent.click(inside("Tags").getByRole("button", { name: "Remove Tags" }));
  expect(getSentence()).toBe("hp.lr > 1 and (state is running or hp.lr < 9)");
  await userEvent.selectOptions(screen.getAllByLabelText("Match")[0] as Element, "or");
  expect(getSentence()).toBe("hp.lr > 1 or (state is running or hp.lr < 9)");
  await userEvent.click(screen.getAllByRole("button", { name: "Remove group" })[0] as Element);
  expect(getSentence()).toBe("hp.lr > 1");
});
