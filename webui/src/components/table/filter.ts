/** The type of a column in the API. */
export type ColumnType =
  | "COLUMN_TYPE_TEXT"
  | "COLUMN_TYPE_NUMBER"
  | "COLUMN_TYPE_DATE"
  | "COLUMN_TYPE_ARRAY"
  | "COLUMN_TYPE_UNSPECIFIED";

/** A column that can be filtered. */
export interface FilterColumn {
  column: string;
  type: ColumnType;
  displayName: string;
}

/** A condition of the API's filter. */
export interface FilterField {
  kind: "field";
  columnName: string;
  type: ColumnType;
  operator: Operator;
  value: string | number | null;
}

/** A group of conditions that must all match (and) or any of them (or). */
export interface FilterGroup {
  kind: "group";
  conjunction: "and" | "or";
  children: FilterNode[];
}
export type FilterNode = FilterField | FilterGroup;

export type Operator =
  "=" | "!=" | "<" | "<=" | ">" | ">=" | "contains" | "notContains" | "isEmpty" | "notEmpty";

/** A syntax error and its position (index of the first wrong character). */
export class FilterError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/**
 * Parses a filter: `state is running and (lr < 0.01 or name contains "a b")`. `and` binds stronger than `or`.
 * Operators: is, is not, =, !=, <, <=, >, >=, contains, does not contain, is empty, is not empty. A column is
 * given by its name (`hp.lr`), its display name, or an unambiguous suffix of its name (`lr`).
 *
 * @throws FilterError with the problem and its position.
 */
export function parseFilter(sentence: string, columns: readonly FilterColumn[]): FilterGroup {
  const parser = new Parser(tokenize(sentence), columns, sentence.length);
  const node = parser.any();
  parser.end();
  return node?.kind === "group"
    ? node
    : { kind: "group", conjunction: "and", children: node ? [node] : [] };
}

/** The value of the API's `filter`. */
export function formatFilter(group: FilterGroup, showArchived: boolean): string {
  return JSON.stringify({ showArchived, filterGroup: group });
}

/** The columns that a name may refer to; only the exact match if there is one. */
export function findColumns<C extends FilterColumn>(name: string, columns: readonly C[]): C[] {
  const searched = name.toLowerCase();
  const named = (matches: (column: C) => boolean) => columns.filter(matches);
  const tests: ((column: C) => boolean)[] = [
    (c) => c.column === name,
    (c) => c.column.toLowerCase() === searched,
    (c) => c.displayName.toLowerCase() === searched,
    (c) => c.column.toLowerCase().endsWith("." + searched),
    // A metric's name refers to its last value.
    (c) => c.column.toLowerCase().endsWith("." + searched + ".last"),
  ];
  for (const test of tests) {
    const found = named(test);
    if (found.length > 0) return found;
  }
  return [];
}

/** A token of the filter language: a word, a quoted text (without quotes) or a symbol, and its position. */
interface Token {
  kind: "word" | "quoted" | "mark";
  text: string;
  at: number;
}

const PART =
  /\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(<=|>=|!=|=|<|>|\(|\))|([^\s"'<>=!()]+))/y;

/** @throws FilterError for a quote without its end or a stray "!". */
function tokenize(sentence: string): Token[] {
  const tokens: Token[] = [];
  PART.lastIndex = 0;
  let end = 0;
  while (end < sentence.trimEnd().length) {
    PART.lastIndex = end;
    const found = PART.exec(sentence);
    if (!found) {
      const at = end + (sentence.slice(end).length - sentence.slice(end).trimStart().length);
      throw new FilterError(`unexpected ${sentence.slice(at, at + 10)}`, at);
    }
    end = PART.lastIndex;
    const [matched, double, single, mark, word] = found;
    const at = found.index + (matched.length - matched.trimStart().length);
    const quoted = double ?? single;
    if (quoted !== undefined) {
      tokens.push({ kind: "quoted", text: quoted.replace(/\\(.)/g, "$1"), at });
    } else if (mark !== undefined) tokens.push({ kind: "mark", text: mark, at });
    else tokens.push({ kind: "word", text: word ?? "", at });
  }
  return tokens;
}

const COMPARISONS = ["=", "!=", "<", "<=", ">", ">="] as const;

class Parser {
  private next = 0;

  constructor(
    private readonly tokens: readonly Token[],
    private readonly columns: readonly FilterColumn[],
    private readonly length: number,
  ) {}

  any(): FilterNode | undefined {
    return this.tokens.length === 0 ? undefined : this.or();
  }

  end(): void {
    const left = this.tokens[this.next];
    if (left) throw new FilterError(`expected "and" or "or" before ${left.text}`, left.at);
  }

  private or(): FilterNode {
    return this.list("or", () => this.list("and", () => this.condition()));
  }

  private list(conjunction: "and" | "or", part: () => FilterNode): FilterNode {
    const first = part();
    const children = [first];
    while (this.take(conjunction)) children.push(part());
    return children.length > 1 ? { kind: "group", conjunction, children } : first;
  }

  private condition(): FilterNode {
    if (this.take("(")) {
      const inside = this.or();
      if (!this.take(")")) throw this.wrong('expected ")"');
      return inside;
    }
    const column = this.column();
    const operator = this.operator();
    if (operator === "isEmpty" || operator === "notEmpty") {
      return { kind: "field", columnName: column.column, type: column.type, operator, value: null };
    }
    const value = this.value(column, operator);
    return { kind: "field", columnName: column.column, type: column.type, operator, value };
  }

  private column(): FilterColumn {
    const token = this.tokens[this.next];
    if (!token || token.kind === "mark") throw this.wrong("expected a column");
    const found = findColumns(token.text, this.columns);
    const [first, second] = found;
    if (!first) throw new FilterError(`unknown column "${token.text}"`, token.at);
    if (second) {
      const names = found.slice(0, 4).map((each) => each.column);
      throw new FilterError(
        `"${token.text}" is ambiguous: did you mean ${names.join(" or ")}?`,
        token.at,
      );
    }
    this.next++;
    return first;
  }

  private operator(): Operator {
    for (const mark of COMPARISONS) if (this.take(mark)) return mark;
    if (this.take("contains")) return "contains";
    if (this.take("does")) {
      if (this.take("not") && this.take("contain")) return "notContains";
      throw this.wrong('expected "does not contain"');
    }
    if (this.take("is")) {
      const isNot = this.take("not");
      if (this.take("empty")) return isNot ? "notEmpty" : "isEmpty";
      return isNot ? "!=" : "=";
    }
    throw this.wrong("expected an operator: is, =, <, >, contains, …");
  }

  private value(column: FilterColumn, operator: Operator): string | number {
    const token = this.tokens[this.next];
    if (!token || token.kind === "mark") throw this.wrong("expected a value");
    this.next++;
    const isText = operator === "contains" || operator === "notContains";
    if (column.type === "COLUMN_TYPE_NUMBER" && !isText) {
      const number = Number(token.text);
      if (token.text.trim() === "" || !Number.isFinite(number)) {
        throw new FilterError(
          `${column.column} is numeric, but "${token.text}" is not a number`,
          token.at,
        );
      }
      return number;
    }
    if (column.type === "COLUMN_TYPE_DATE" && Number.isNaN(Date.parse(token.text))) {
      throw new FilterError(
        `"${token.text}" is not a date; use a format such as 2026-01-31`,
        token.at,
      );
    }
    return token.text;
  }

  /** Consumes the next token if it is this word or symbol. */
  private take(word: string): boolean {
    const token = this.tokens[this.next];
    if (!token || token.kind === "quoted" || token.text.toLowerCase() !== word) return false;
    this.next++;
    return true;
  }

  private wrong(message: string): FilterError {
    return new FilterError(message, this.tokens[this.next]?.at ?? this.length);
  }
}
