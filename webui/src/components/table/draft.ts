import {
  findColumns,
  type ColumnType,
  type FilterColumn,
  type FilterField,
  type FilterGroup,
  type FilterNode,
  type Operator,
} from "./filter";

/** A condition while it is put together: its column and its value are what was typed. */
export interface DraftCondition {
  kind: "condition";
  id: number;
  column: string;
  operator: Operator;
  value: string;
  /** What it was made from: as long as it says the same, it is that, whatever could not be typed here. */
  parsed?: FilterField;
}

/** Conditions and groups that all must hold (and), or one of them (or). */
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

/** What can be asked of a column, by its type (docs/api.md); what is asked max comes first. */
export const OPERATORS: Record<ColumnType, readonly Operator[]> = {
  COLUMN_TYPE_TEXT: [...EXACT, ...PARTS, ...EMPTINESS],
  COLUMN_TYPE_NUMBER: [...ORDERED, ...EXACT, ...EMPTINESS],
  COLUMN_TYPE_DATE: [">=", "<=", ">", "<", ...EXACT, ...EMPTINESS],
  COLUMN_TYPE_ARRAY: [...PARTS, ...EMPTINESS],
  COLUMN_TYPE_UNSPECIFIED: [...EXACT, ...ORDERED, ...PARTS, ...EMPTINESS],
};

/** How deep groups may lie: the API takes 16, of which the table's search is one. */
export const MAX_DEPTH = 15;

/** Whether a value goes with it. */
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

/** A filter as something to be changed. */
export function toDraft(group: FilterGroup): DraftGroup {
  const { conjunction, children } = group;
  return { ...emptyGroup(conjunction), children: children.map(toDraftNode) };
}

const formatValue = ({ value }: FilterField) => (value === null ? "" : String(value));

function toDraftNode(node: FilterNode): DraftNode {
  if (node.kind === "group") return toDraft(node);
  const { columnName, operator } = node;
  const value = formatValue(node);
  return { ...emptyCondition(), column: columnName, operator, value, parsed: node };
}

/** The one column that is meant by what was typed, if it is one. */
export function findColumn(typed: string, columns: readonly FilterColumn[]) {
  const found = findColumns(typed, columns);
  return found.length === 1 ? found[0] : undefined;
}

/** Columns that what was typed may become, the first of them. */
export function suggestColumns(typed: string, columns: readonly FilterColumn[], max = 50) {
  const text = typed.toLowerCase();
  const fits = ({ column, displayName }: FilterColumn) =>
    column.toLowerCase().includes(text) || displayName.toLowerCase().includes(text);
  return columns.filter(fits).slice(0, max);
}

/** With another column its operator stays if it fits; else the column's first one is taken. */
export function withColumn(
  condition: DraftCondition,
  typed: string,
  columns: readonly FilterColumn[],
): DraftCondition {
  const column = findColumn(typed, columns);
  if (!column) return { ...condition, column: typed };
  const fitting = OPERATORS[column.type];
  const operator = fitting.includes(condition.operator) ? condition.operator : fitting[0];
  return { ...condition, column: column.column, operator: operator ?? "=" };
}

/** The condition as the API takes it; undefined: it is not complete, or not right yet. */
export function toField(
  { column: typed, operator, value, parsed }: DraftCondition,
  columns: readonly FilterColumn[],
): FilterField | undefined {
  const isAsParsed = parsed?.columnName === typed && parsed.operator === operator;
  if (isAsParsed && formatValue(parsed) === value) return parsed;
  const column = findColumn(typed, columns);
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

/** What of it is complete, as a filter. */
export function toFilter(group: DraftGroup, columns: readonly FilterColumn[]): FilterGroup {
  const children = group.children.flatMap((child): FilterNode[] => {
    if (child.kind === "condition") return [toField(child, columns)].filter((f) => f !== undefined);
    const inside = toFilter(child, columns);
    return inside.children.length > 0 ? [inside] : [];
  });
  return { kind: "group", conjunction: group.conjunction, children };
}
