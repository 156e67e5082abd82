import { formatNumber, formatStep } from "./format";
import type { Series } from "./series";

const MAX_NAMED = 5;

/** Lists the first of several texts: "3, 4, 5 and 7 more". */
function list(texts: readonly string[]): string {
  const rest = texts.length - MAX_NAMED;
  const named = texts.slice(0, MAX_NAMED).join(", ");
  return rest > 0 ? `${named} and ${rest} more` : named;
}

/** Says which values are NaN or infinite: "NaN at 3, 4; ∞ at 6". Empty if none is. */
export function describeValues(
  invalid: ReadonlyMap<number, number>,
  formatX: (x: number) => string = formatStep,
): string {
  const values = [...new Set(invalid.values())];
  const positions = (value: number) =>
    [...invalid].filter(([, each]) => Object.is(each, value)).map(([x]) => x);
  return values
    .map(
      (value) =>
        `${formatNumber(value)} at ${list(
          positions(value)
            .sort((a, b) => a - b)
            .map(formatX),
        )}`,
    )
    .join("; ");
}

/** Says which values of a chart are NaN or infinite; undefined if none is. */
export function describeInvalid(
  series: readonly Series[],
  formatX?: (x: number) => string,
): string | undefined {
  const some = series.flatMap(({ label, invalid }) => (invalid ? [{ label, invalid }] : []));
  const [first] = some;
  if (!first) return undefined;
  if (series.length === 1) return describeValues(first.invalid, formatX);
  return `NaN or infinite: ${list(some.map(({ label }) => label))}`;
}
