import {
  findTerm,
  type FilterColumn,
  type FilterField,
  type FilterNode,
  type Operator,
} from "./filter";

/** Formats a filter as text; parseFilter returns the same filter. */
export function toSentence(node: FilterNode, columns: readonly FilterColumn[]): string {
  if (node.kind === "field") return toCondition(node, columns);
  return node.children
    .map((child) =>
      child.kind === "group" && child.children.length > 1
        ? `(${toSentence(child, columns)})`
        : toSentence(child, columns),
    )
    .filter(Boolean)
    .join(` ${node.conjunction} `);
}

const WORDS: Partial<Record<Operator, string>> = {
  contains: "contains",
  notContains: "does not contain",
  isEmpty: "is empty",
  notEmpty: "is not empty",
};

/** The text of an operator: symbols for numbers and dates, words for text. */
export function operatorToText(operator: Operator, type: FilterField["type"]): string {
  const isText = type !== "COLUMN_TYPE_NUMBER" && type !== "COLUMN_TYPE_DATE";
  if (isText && operator === "=") return "is";
  if (isText && operator === "!=") return "is not";
  return WORDS[operator] ?? operator;
}

function toCondition(
  { columnName, type, operator, value }: FilterField,
  columns: readonly FilterColumn[],
): string {
  const words = `${quoted(findTerm(columnName, columns))} ${operatorToText(operator, type)}`;
  return value === null ? words : `${words} ${quoted(String(value))}`;
}

// Quote reserved words.
const RESERVED = /^(and|or|not|is|empty|does|contains?)$/i;

/** A text of the filter language, in quotes if it needs them. */
export function quoted(text: string): string {
  if (/^[^\s"'<>=!()\\]+$/.test(text) && !RESERVED.test(text)) return text;
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
