import { describe, expect, it } from "vitest";
import { findColumns, formatFilter, parseFilter, type FilterColumn } from "./filter";

const COLUMNS: FilterColumn[] = [
  { column: "state", type: "COLUMN_TYPE_TEXT", displayName: "State" },
  { column: "startTime", type: "COLUMN_TYPE_DATE", displayName: "Start Time" },
  { column: "name", type: "COLUMN_TYPE_TEXT", displayName: "Name" },
  {
    column: "tags",
    type: "COLUMN_TYPE_ARRAY",
    displayName: "Labels",
    term: "labels",
    aliases: ["Tags"],
  },
  { column: "hp.optimizer.lr", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "hp.optimizer.beta.first", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "hp.scheduler.beta.first", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "hp.lr", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "training.loss.last", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "validation.loss.last", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "validation.loss.min", type: "COLUMN_TYPE_NUMBER", displayName: "" },
  { column: "validation.accuracy.last", type: "COLUMN_TYPE_NUMBER", displayName: "" },
];
const parse = (sentence: string) => parseFilter(sentence, COLUMNS);

describe("parseFilter", () => {
  it("parses a sentence to API conditions", () => {
    expect(parse("state is running and lr < 0.01")).toEqual({
      kind: "group",
      conjunction: "and",
      children: [
        {
          kind: "field",
          columnName: "state",
          type: "COLUMN_TYPE_TEXT",
          operator: "=",
          value: "running",
        },
        {
          kind: "field",
          columnName: "hp.lr",
          type: "COLUMN_TYPE_NUMBER",
          operator: "<",
          value: 0.01,
        },
      ],
    });
  });

  it("binds and stronger than or, and brackets strongest", () => {
    const shape = (node: ReturnType<typeof parse>["children"][number]): unknown =>
      node.kind === "field" ? node.value : [node.conjunction, ...node.children.map(shape)];
    expect(shape(parse("name = a or name = b and name = c"))).toEqual([
      "or",
      "a",
      ["and", "b", "c"],
    ]);
    expect(shape(parse("(name = a or name = b) and name = c"))).toEqual([
      "and",
      ["or", "a", "b"],
      "c",
    ]);
  });

  it.each([
    ["name is not x", "!="],
    ["name contains x", "contains"],
    ["name does not contain x", "notContains"],
    ["lr>=1", ">="],
    ["lr is empty", "isEmpty"],
    ["lr IS NOT empty", "notEmpty"],
    ["name ~ x", "contains"],
    ["name ~x", "contains"],
    ["name ~ ~x", "contains"],
    ["name !~ x", "notContains"],
    ["name !~x", "notContains"],
    ["lr == 1", "="],
    ["labels is x", "contains"],
    ["labels != x", "notContains"],
    ["labels is empty", "isEmpty"],
  ])("parses the operator in %s", (sentence, operator) => {
    expect(parse(sentence).children[0]).toMatchObject({ operator });
  });

  it("accepts quoted texts, including reserved words", () => {
    expect(parse('name = "a \\"b\\" and c"').children[0]).toMatchObject({ value: 'a "b" and c' });
    expect(parse("\"Start Time\" > '2026-01-31'").children[0]).toMatchObject({
      columnName: "startTime",
    });
  });

  it("parses an empty text to an empty filter", () => {
    expect(formatFilter(parse("  "), false)).toBe(
      '{"showArchived":false,"filterGroup":{"kind":"group","conjunction":"and","children":[]}}',
    );
  });

  it.each([
    ["colour = 1", 'unknown column "colour"', 0],
    ["lr < abc", 'hp.lr is numeric, but "abc" is not a number', 5],
    ["startTime > soon", '"soon" is not a date; use a format such as 2026-01-31', 12],
    ["state is", "expected a value", 8],
    ["lr < Infinity", 'hp.lr is numeric, but "Infinity" is not a number', 5],
    ["(state is x", 'expected ")"', 11],
    ["state is x lr < 1", 'expected "and" or "or" before lr', 11],
    ["state ! x", "unexpected ! x", 6],
    ['name = "open', 'unexpected "open', 7],
    ["name ~", "expected a value", 6],
    ["name !~", "expected a value", 7],
    ["(name ~)", "expected a value", 7],
    ["state x", "expected an operator: is, =, <, >, contains, …", 6],
  ])("reports the error in %s", (sentence, message, at) => {
    expect(() => parse(sentence)).toThrowError(expect.objectContaining({ message, at }) as Error);
  });
});

describe("findColumns", () => {
  const more = [
    ...["training.accuracy.last", "system.gpu.last", "eval.gpu.last", "eval.bleu.max"],
    ...["metadata.team", "metadata.lr"],
  ].map((column): FilterColumn => ({ column, type: "COLUMN_TYPE_NUMBER", displayName: "" }));
  const names = (name: string) => findColumns(name, [...more, ...COLUMNS]).map((c) => c.column);

  it.each([
    ["lr", "hp.lr"],
    ["optimizer.lr", "hp.optimizer.lr"],
    ["accuracy", "validation.accuracy.last"],
    ["loss", "validation.loss.last"],
    ["loss.min", "validation.loss.min"],
    ["training.loss", "training.loss.last"],
    ["bleu.max", "eval.bleu.max"],
    ["eval.gpu", "eval.gpu.last"],
    ["team", "metadata.team"],
    ["start time", "startTime"],
    ["labels", "tags"],
    ["tags", "tags"],
    ["Tags", "tags"],
  ])("resolves %s to %s", (name, column) => expect(names(name)).toEqual([column]));

  it("returns all columns that equally match", () => {
    expect(names("gpu")).toEqual(["system.gpu.last", "eval.gpu.last"]);
    expect(names("beta.first")).toEqual(["hp.optimizer.beta.first", "hp.scheduler.beta.first"]);
  });
});

describe("choices of an error", () => {
  const getError = (sentence: string) => {
    try {
      parse(sentence);
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it("are the columns that an ambiguous name may refer to", () => {
    expect(getError("lr < 1 and beta.first < 1")).toMatchObject({
      message: '"beta.first" is ambiguous',
      choices: ["hp.optimizer.beta.first", "hp.scheduler.beta.first"],
      at: 11,
      end: 21,
    });
  });

  it("are similar columns if there is no such column", () => {
    expect(getError("accurcy < 1")).toMatchObject({ choices: ["validation.accuracy"], end: 7 });
    expect(getError("optim = 1")).toMatchObject({
      choices: ["hp.optimizer.lr", "hp.optimizer.beta.first"],
    });
    expect(getError("colour = 1")).toMatchObject({ choices: [] });
  });
});
