import {
  findColumns,
  findTerm,
  getTerm,
  type ColumnType,
  type FilterColumn,
  type FilterField,
  type FilterGroup,
  type FilterNode,
  type Operator,
} from "./filter";

/** A condition in the editor: column and value as typed. */
export interface DraftCondition {
  kind: "condition";
  id: number;
  column: string;
  operator: Operator;
  value: string;
  /**
   * The parsed condition; kept unchanged until the user edits it, even if the editor could not express it.
   */
  parsed?: FilterField;
}

/** A group whose children must all match (and) or any of them (or). */
export interface DraftGroup {
  kind: "group";
  id: number;
  conjunction: "and" | "or";
  children: DraftNode[];
}
export type DraftNode = DraftCondition | DraftGroup;

const ORDERED: readonly Operator[] = ["<", "<=", ">", ">="];
const EXACT: readonly Operator[] = ["=", "!="];
const PARTS: readonly Operator[] = ["contains", "notContains"];
const EMPTINESS: readonly Operator[] = ["isEmpty", "notEmpty"];

/** The operators of a column type (docs/api.md), most common first. */
export const OPERATORS: Record<ColumnType, readonly Operator[]> = {
  COLUMN_TYPE_TEXT: [...EXACT, ...PARTS, ...EMPTINESS],
  COLUMN_TYPE_NUMBER: [...ORDERED, ...EXACT, ...EMPTINESS],
  COLUMN_TYPE_DATE: [">=", "<=", ">", "<", ...EXACT, ...EMPTINESS],
  COLUMN_TYPE_ARRAY: [...PARTS, ...EMPTINESS],
  COLUMN_TYPE_UNSPECIFIED: [...EXACT, ...ORDERED, ...PARTS, ...EMPTINESS],
};

/** The maximum nesting of groups: the API allows 16, and the table's search uses one. */
export const MAX_DEPTH = 15;

/** Whether the operator takes a value. */
export const hasValue = (operator: Operator) => !EMPTINESS.includes(operator);

let ids = 0;

export const emptyGroup = (conjunction: "and" | "or" = "and"): DraftGroup => ({
  kind: "group",
  id: ++ids,
  conjunction,
  children: [],
});

export const emptyCondition = (): DraftCondition => ({
  kind: "condition",
  id: ++ids,
  column: "",
  operator: "=",
  value: "",
});

/** Converts a filter to a draft. */
export function toDraft(group: FilterGroup, columns: readonly FilterColumn[]): DraftGroup {
  const { conjunction, children } = group;
  return {
    ...emptyGroup(conjunction),
    children: children.map((child) => toDraftNode(child, columns)),
  };
}

const formatValue = ({ value }: FilterField) => (value === null ? "" : String(value));

function toDraftNode(node: FilterNode, columns: readonly FilterColumn[]): DraftNode {
  if (node.kind === "group") return toDraft(node, columns);
  const column = findTerm(node.columnName, columns);
  const { operator } = node;
  const value = formatValue(node);
  return { ...emptyCondition(), column, operator, value, parsed: node };
}

/** The column that a name refers to; undefined if there is none or more than one. */
export function findColumn(typed: string, columns: readonly FilterColumn[]) {
  const found = findColumns(typed, columns);
  return found.length === 1 ? found[0] : undefined;
}

/** The first columns that contain the text. */
export function suggestColumns(typed: string, columns: readonly FilterColumn[], max = 50) {
  const text = typed.toLowerCase();
  const fits = ({ column, displayName }: FilterColumn) =>
    column.toLowerCase().includes(text) || displayName.toLowerCase().includes(text);
  return columns.filter(fits).slice(0, max);
}

/** Changes the column; keeps the operator if the new column has it. */
export function withColumn(
  condition: DraftCondition,
  typed: string,
  columns: readonly FilterColumn[],
): DraftCondition {
  const column = findColumn(typed, columns);
  if (!column) return { ...condition, column: typed };
  const fitting = OPERATORS[column.type];
  const operator = fitting.includes(condition.operator) ? condition.operator : fitting[0];
  return { ...condition, column: getTerm(column), operator: operator ?? "=" };
}

/** Converts a condition to an API filter; undefined if it is incomplete or invalid. */
export function toField(
  { column: typed, operator, value, parsed }: DraftCondition,
  columns: readonly FilterColumn[],
): FilterField | undefined {
  const column = findColumn(typed, columns);
  const isAsParsed =
    parsed?.columnName === (column?.column ?? typed) && parsed.operator === operator;
  if (isAsParsed && formatValue(parsed) === value) return parsed;
  if (!column) return undefined;
  const field = { kind: "field" as const, columnName: column.column, type: column.type, operator };
  if (!hasValue(operator)) return { ...field, value: null };
  const text = value.trim();
  if (text === "") return undefined;
  if (column.type === "COLUMN_TYPE_NUMBER" && !PARTS.includes(operator))
    return Number.isFinite(Number(text)) ? { ...field, value: Number(text) } : undefined;
  if (column.type === "COLUMN_TYPE_DATE" && Number.isNaN(Date.parse(text))) return undefined;
  return { ...field, value: text };
}

/** Converts the complete conditions to a filter. */
export function toFilter(group: DraftGroup, columns: readonly FilterColumn[]): FilterGroup {
  const children = group.children.flatMap((child): FilterNode[] => {
    if (child.kind === "condition") return [toField(child, columns)].filter((f) => f !== undefined);
    const inside = toFilter(child, columns);
    return inside.children.length > 0 ? [inside] : [];
  });
  return { kind: "group", conjunction: group.conjunction, children };
}
