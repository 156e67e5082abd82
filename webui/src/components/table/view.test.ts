import { describe, expect, it } from "vitest";
import { moveColumn, readView, toggleSort, writeView, type TableView } from "./view";

const BASE: TableView = {
  filter: "",
  text: "",
  columns: ["id", "name", "state"],
  pinned: 1,
  widths: {},
  sort: [{ column: "id", isDescending: true }],
  heat: [],
  showArchived: false,
  isCompact: false,
};

describe("view in the address", () => {
  it("round-trips", () => {
    const view: TableView = {
      filter: 'name contains "a,b" and lr < 1',
      text: "50% & more",
      columns: ["state", "hp.a,b", "id"],
      pinned: 2,
      widths: { "hp.a,b": 120 },
      sort: [],
      heat: ["validation.loss.min"],
      showArchived: true,
      isCompact: true,
    };
    const written = writeView(new URLSearchParams("tab=x"), view, BASE);
    expect(readView(new URLSearchParams(written.toString()), BASE)).toEqual(view);
    expect(written.get("tab")).toBe("x");
  });

  it("leaves out default values", () => {
    expect(writeView(new URLSearchParams("q=x&sort=id"), BASE, BASE).toString()).toBe("");
    expect(readView(new URLSearchParams(), BASE)).toEqual(BASE);
  });

  it("accepts malformed addresses", () => {
    const view = readView(new URLSearchParams("pin=-3&widths=a:x,b:1,:9&sort=,,=asc"), BASE);
    expect(view).toMatchObject({ pinned: 1, widths: {}, sort: [] });
  });
});

describe("toggleSort", () => {
  it("cycles through ascending, descending and unsorted", () => {
    const up = toggleSort([], "a", false);
    const down = toggleSort(up, "a", false);
    expect(up).toEqual([{ column: "a", isDescending: false }]);
    expect(down).toEqual([{ column: "a", isDescending: true }]);
    expect(toggleSort(down, "a", false)).toEqual([]);
  });

  it("adds a column to the others and keeps their order", () => {
    const two = toggleSort([{ column: "a", isDescending: false }], "b", true);
    expect(two.map((by) => by.column)).toEqual(["a", "b"]);
    expect(toggleSort(two, "a", true).map((by) => [by.column, by.isDescending])).toEqual([
      ["a", true],
      ["b", false],
    ]);
  });
});

it("moves a column to the position of another", () => {
  expect(moveColumn(["a", "b", "c"], "a", "c")).toEqual(["b", "c", "a"]);
  expect(moveColumn(["a", "b", "c"], "c", "a")).toEqual(["c", "a", "b"]);
  expect(moveColumn(["a"], "a", "x")).toEqual(["a"]);
});

it("reads an address with a stray %", () => {
  const view = readView(new URLSearchParams("columns=a%25,b&widths=c%25:80"), BASE);
  expect(view).toMatchObject({ columns: ["a%", "b"], widths: { "c%": 80 } });
});
