import { expect, it } from "vitest";
import { parseFilter, type FilterColumn } from "./filter";
import { toSentence } from "./sentence";

const COLUMNS: FilterColumn[] = [
  { column: "state", type: "COLUMN_TYPE_TEXT", displayName: "State" },
  { column: "startTime", type: "COLUMN_TYPE_DATE", displayName: "Start Time" },
  { column: "tags", type: "COLUMN_TYPE_ARRAY", displayName: "Tags" },
  { column: "hp.lr", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "metadata.odd (name)", type: "COLUMN_TYPE_TEXT", displayName: "" },
];
const parse = (sentence: string) => parseFilter(sentence, COLUMNS);

it("uses the term of a column", () => {
  const labels: FilterColumn = {
    column: "tags",
    type: "COLUMN_TYPE_ARRAY",
    displayName: "Labels",
    term: "labels",
  };
  const filter = parseFilter("tags is vision", [labels]);
  expect(filter.children[0]).toMatchObject({ columnName: "tags", operator: "contains" });
  expect(toSentence(filter, [labels])).toBe("labels contains vision");
});

it.each([
  ["", ""],
  ["lr<1e-7", "hp.lr < 1e-7"],
  ["lr > -3 and lr != 0", "hp.lr > -3 and hp.lr != 0"],
  ["State = running or state is not 'and'", 'state is running or state is not "and"'],
  ['state is "a \\"b\\" \\\\c"', 'state is "a \\"b\\" \\\\c"'],
  ["tags does not contain x and tags is empty", "tags does not contain x and tags is empty"],
  ['"Start Time" >= 2026-01-31', "startTime >= 2026-01-31"],
  ["state is empty", "state is empty"],
  ['state is "empty"', 'state is "empty"'],
  ['"metadata.odd (name)" contains y', '"metadata.odd (name)" contains y'],
  [
    "lr = 1 and (lr = 2 or (lr = 3 and lr = 4))",
    "hp.lr = 1 and (hp.lr = 2 or (hp.lr = 3 and hp.lr = 4))",
  ],
  ["lr = 1 or lr = 2 and lr = 3", "hp.lr = 1 or (hp.lr = 2 and hp.lr = 3)"],
  ["(lr = 1) and ((lr = 2))", "hp.lr = 1 and hp.lr = 2"],
])("formats %s so that it parses to the same filter", (typed, sentence) => {
  const filter = parse(typed);
  expect(toSentence(filter, COLUMNS)).toBe(sentence);
  expect(parse(sentence)).toEqual(filter);
});
