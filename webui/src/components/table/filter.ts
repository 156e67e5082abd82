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
  /** The name in filters, if it differs from `column`. */
  term?: string;
  /** Further names that are accepted. */
  aliases?: readonly string[];
}

/** The name of a column in filters. */
export const getTerm = ({ column, term }: FilterColumn) => term ?? column;

/** The name in filters of the API's column; the same name if the column is unknown. */
export const findTerm = (name: string, columns: readonly FilterColumn[]) =>
  columns.find(({ column }) => column === name)?.term ?? name;

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
    /** Column names that may have been meant, and the end of the text that they replace. */
    readonly choices: readonly string[] = [],
    readonly end = at,
  ) {
    super(message);
  }
}

/**
 * Parses a filter: `state is running and (lr < 0.01 or name contains "a b")`. `and` binds stronger than `or`.
 * Operators: is, is not, =, !=, <, <=, >, >=, contains (~), does not contain (!~), is empty, is not empty. A
 * column is given by its name (`hp.lr`), its display name, or the end of its name (see findColumns).
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

/**
 * The columns that a name may refer to, usually one: `lr` is the hyperparameter of exactly this name rather than
 * `hp.optimizer.lr`, and `accuracy` is the last value of the validation metric.
 */
export function findColumns<C extends FilterColumn>(name: string, columns: readonly C[]): C[] {
  const searched = name.toLowerCase();
  if (searched === "") return [];
  const isNamed =
    (...names: string[]) =>
    (c: C) =>
      names.includes(c.column.toLowerCase());
  const tests: ((column: C) => boolean)[] = [
    (c) => c.column === name,
    isNamed(searched),
    (c) => [c.term, c.displayName, ...(c.aliases ?? [])].some((n) => n?.toLowerCase() === searched),
    isNamed(`${searched}.last`),
    isNamed(`hp.${searched}`),
    isNamed(`validation.${searched}`, `validation.${searched}.last`),
    isNamed(`training.${searched}`, `training.${searched}.last`),
    (c) => getMetricName(c.column)?.some((each) => each === searched) ?? false,
    isNamed(`metadata.${searched}`),
    (c) => c.column.toLowerCase().endsWith("." + searched),
    (c) => c.column.toLowerCase().endsWith("." + searched + ".last"),
  ];
  for (const test of tests) {
    const found = columns.filter(test);
    if (found.length > 0) return found;
  }
  return [];
}

/** The names of a metric of any group without the group: "cpu.max", and "cpu" for "system.cpu.last". */
function getMetricName(column: string): string[] | undefined {
  const [, name, statistic] =
    /^(?!hp\.|metadata\.)[^.]+\.(.+)\.(last|min|max|mean)$/.exec(column.toLowerCase()) ?? [];
  if (name === undefined) return undefined;
  return statistic === "last" ? [name, `${name}.last`] : [`${name}.${statistic}`];
}

// The last value of a metric is referred to by the metric's name.
const toChoice = (column: FilterColumn) => getTerm(column).replace(/\.last$/, "");

const MAX_CHOICES = 4;

/** The columns that resemble a name: those that contain it, or differ by at most two letters in their last part. */
function findSimilar(name: string, columns: readonly FilterColumn[]): FilterColumn[] {
  const searched = name.toLowerCase();
  const isSimilar = (column: FilterColumn) =>
    [toChoice(column), column.displayName]
      .filter(Boolean)
      .map((each) => each.toLowerCase())
      .some((each) => each.includes(searched) || isNear(each.split(".").pop() ?? "", searched));
  return columns.filter((c) => !/\.(min|max|mean)$/.test(c.column) && isSimilar(c));
}

/** Whether two words of at least four letters differ by at most two insertions, deletions or replacements. */
function isNear(a: string, b: string): boolean {
  if (Math.min(a.length, b.length) < 4 || Math.abs(a.length - b.length) > 2) return false;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = (row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]);
      next.push(Math.min(same, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return (row[b.length] ?? 0) <= 2;
}

/** A token of the filter language: a word, a quoted text (without quotes) or a symbol, and its position. */
interface Token {
  kind: "word" | "quoted" | "mark";
  text: string;
  at: number;
  /** The position after it. */
  end: number;
}

const PART =
  /\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(<=|>=|!=|==?|<|>|!~|~(?=[\s"'()<>=!]|$)|\(|\))|([^\s"'<>=!()]+))/y;

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
      tokens.push({ kind: "quoted", text: quoted.replace(/\\(.)/g, "$1"), at, end });
    } else if (mark !== undefined) tokens.push({ kind: "mark", text: mark, at, end });
    else tokens.push({ kind: "word", text: word ?? "", at, end });
  }
  return tokens;
}

const COMPARISONS = ["=", "!=", "<", "<=", ">", ">="] as const;

class Parser {
  private next = 0;

  constructor(
    private readonly tokens: Token[],
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
    const operator = this.operator(column);
    if (operator === "isEmpty" || operator === "notEmpty") {
      return { kind: "field", columnName: column.column, type: column.type, operator, value: null };
    }
    const value = this.value(column, operator);
    return { kind: "field", columnName: column.column, type: column.type, operator, value };
  }

  private column(): FilterColumn {
    const token = this.tokens[this.next];
    if (!token || token.kind === "mark") throw this.wrong("expected a column");
    const { text, at, end } = token;
    const found = findColumns(text, this.columns);
    const [first, second] = found;
    if (!first) {
      const choices = findSimilar(text, this.columns).slice(0, MAX_CHOICES).map(toChoice);
      throw new FilterError(`unknown column "${text}"`, at, choices, end);
    }
    if (second) {
      const choices = found.slice(0, MAX_CHOICES).map(toChoice);
      throw new FilterError(`"${text}" is ambiguous`, at, choices, end);
    }
    this.next++;
    return first;
  }

  private operator(column: FilterColumn): Operator {
    const operator = this.anyOperator();
    // A list is compared with one of its elements.
    if (column.type !== "COLUMN_TYPE_ARRAY") return operator;
    return operator === "=" ? "contains" : operator === "!=" ? "notContains" : operator;
  }

  private anyOperator(): Operator {
    if (this.take("==")) return "=";
    for (const mark of COMPARISONS) if (this.take(mark)) return mark;
    if (this.take("contains") || this.takeTilde()) return "contains";
    if (this.take("!~")) return "notContains";
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

  /** Consumes "~", also the one before a value without a space: `name ~x`. */
  private takeTilde(): boolean {
    const token = this.tokens[this.next];
    if (token?.kind !== "word" || token.text[0] !== "~") return this.take("~");
    this.tokens[this.next] = { ...token, text: token.text.slice(1), at: token.at + 1 };
    return true;
  }

  private wrong(message: string): FilterError {
    return new FilterError(message, this.tokens[this.next]?.at ?? this.length);
  }
}
