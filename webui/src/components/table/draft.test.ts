import { expect, it } from "vitest";
import { toDraft, emptyCondition, toFilter, type DraftCondition } from "./draft";
import { parseFilter, type FilterColumn } from "./filter";

const COLUMNS: FilterColumn[] = [
  { column: "name", type: "COLUMN_TYPE_TEXT", displayName: "Name" },
  { column: "hp.lr", type: "COLUMN_TYPE_NUMBER", displayName: "" },
];

it("keeps typed conditions that the editor cannot express", () => {
  const filter = parseFilter('name is "" and name contains " a " and lr < 1', COLUMNS);
  const draft = toDraft(filter, COLUMNS);
  expect(toFilter(draft, COLUMNS)).toEqual(filter);
  // A change of one condition keeps the others.
  const [empty, spaced, last] = draft.children as DraftCondition[];
  const children = [empty, spaced, { ...(last as DraftCondition), value: "2" }] as DraftCondition[];
  expect(toFilter({ ...draft, children }, COLUMNS).children).toEqual([
    ...filter.children.slice(0, 2),
    { ...filter.children[2], value: 2 },
  ]);
});

it("parses a changed condition, and omits it while it has no value", () => {
  const draft = toDraft(parseFilter("name is a", COLUMNS), COLUMNS);
  const [condition] = draft.children as [DraftCondition];
  const withValue = (value: string) =>
    toFilter({ ...draft, children: [{ ...condition, value }] }, COLUMNS).children;
  expect(withValue(" b ")).toMatchObject([{ columnName: "name", value: "b" }]);
  expect(withValue("")).toEqual([]);
  expect(toFilter({ ...draft, children: [emptyCondition()] }, COLUMNS).children).toEqual([]);
});
