import { FilterError } from "./filter";

/** A word, a quoted text (without its quotes), or a mark of the filter's language, and where it begins. */
export interface Token {
  kind: "word" | "quoted" | "mark";
  text: string;
  at: number;
}

const PART =
  /\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(<=|>=|!=|=|<|>|\(|\))|([^\s"'<>=!()]+))/y;

/** @throws FilterError for a quote without its end or a stray "!". */
export function tokenize(sentence: string): Token[] {
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
    const [whole, double, single, mark, word] = found;
    const at = found.index + (whole.length - whole.trimStart().length);
    const quoted = double ?? single;
    if (quoted !== undefined) {
      tokens.push({ kind: "quoted", text: quoted.replace(/\\(.)/g, "$1"), at });
    } else if (mark !== undefined) tokens.push({ kind: "mark", text: mark, at });
    else tokens.push({ kind: "word", text: word ?? "", at });
  }
  return tokens;
}
