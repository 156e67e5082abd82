import { isMap, parseDocument, type Document } from "yaml";

/** The purpose of a new experiment. */
export type Purpose = "fork" | "search" | "continue";

/** The trial to start from. */
export interface Origin {
  trialId: number;
  hparams: Record<string, unknown>;
  /** The number of trained batches. */
  length: number;
}

/** The proposed number of trials of a search: enough for two rungs. */
const TRIALS = 16;

/**
 * The initial configuration of the form, with comments preserved: the experiment's own; for a search, with a
 * searcher and ranges around the trial's hyperparameters; for a continuation, with the trial's
 * hyperparameters and checkpoint.
 */
export function proposeConfig(
  config: string,
  purpose: Purpose,
  origin: Origin | undefined,
): string {
  if (purpose === "fork" || !origin) return config;
  const document = parseDocument(config);
  if (!isMap(document.contents)) return config;
  const name = document.get("name");
  if (typeof name === "string" && purpose === "search") document.set("name", `${name} search`);
  if (purpose === "search") searchAround(document, origin);
  else continueFrom(document, origin);
  return document.toString();
}

function continueFrom(document: Document, { trialId, hparams }: Origin) {
  document.set("hyperparameters", Object.fromEntries(sorted(hparams)));
  const searcher = getSearcher(document);
  document.set("searcher", {
    ...pickFields(searcher, LENGTHS),
    name: "single",
    source_trial_id: trialId,
  });
}

// The fields that all searchers have: metric and trial length.
const LENGTHS = ["metric", "smaller_is_better", "max_length", "time_metric", "max_time"];

function searchAround(document: Document, { hparams, length }: Origin) {
  const searcher = getSearcher(document);
  const known = pickFields(searcher, LENGTHS);
  const hasLength = "max_length" in known || "max_time" in known;
  document.set("searcher", {
    name: "adaptive_asha",
    ...known,
    ...(!hasLength && { max_length: { batches: Math.max(1, length) } }),
    max_trials: TRIALS,
  });
  const configured = (document.toJS() as { hyperparameters?: Record<string, unknown> })
    .hyperparameters;
  const all = flatten(configured);
  // If the experiment was a search, its fixed hyperparameters stay fixed.
  const isSearched = all.some((each) => isRange(each));
  document.set("hyperparameters", addRanges(hparams, configured ?? {}, isSearched));
}

function getSearcher(document: Document): Record<string, unknown> {
  return (document.toJS() as { searcher?: Record<string, unknown> }).searcher ?? {};
}

const pickFields = (searcher: Record<string, unknown>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(searcher).filter(([name]) => names.includes(name)));

// The API's objects are unordered.
const sorted = (fields: Record<string, unknown>) =>
  Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isRange = (value: unknown) => isRecord(value) && typeof value["type"] === "string";

function flatten(value: unknown): unknown[] {
  if (!isRecord(value) || isRange(value)) return [value];
  return Object.values(value).flatMap(flatten);
}

function addRanges(
  hparams: Record<string, unknown>,
  configured: Record<string, unknown>,
  isSearched: boolean,
): Record<string, unknown> {
  return Object.fromEntries(
    sorted(hparams).map(([name, value]) => {
      const before = configured[name];
      if (isRecord(value) && !isRange(before))
        return [name, addRanges(value, isRecord(before) ? before : {}, isSearched)];
      if (isRange(before)) return [name, narrowRange(before as Range, value)];
      return [name, isSearched ? value : rangeAround(value)];
    }),
  );
}

interface Range {
  type: string;
  minval?: number;
  maxval?: number;
  base?: number;
}

const roundNumber = (value: number) => Number(value.toPrecision(4));

/** A third of the original range, around the value; categories stay complete. */
function narrowRange(range: Range, value: unknown): unknown {
  const { type, minval, maxval, base = 10 } = range;
  if (typeof value !== "number" || minval === undefined || maxval === undefined) return range;
  const at = type === "log" ? Math.log(value) / Math.log(base) : value;
  const reach = (maxval - minval) / 6;
  const from = Math.max(minval, at - reach);
  const to = Math.min(maxval, at + reach);
  const ends: [number, number] =
    type === "int" ? [Math.floor(from), Math.ceil(to)] : [roundNumber(from), roundNumber(to)];
  return { ...range, minval: ends[0], maxval: ends[1] };
}

/** The proposed range around a fixed value; strings stay fixed. */
export function rangeAround(value: unknown): unknown {
  if (typeof value === "boolean") return { type: "categorical", vals: [true, false] };
  if (typeof value !== "number" || value === 0) return value;
  if (Number.isInteger(value) && value > 0)
    return { type: "int", minval: Math.max(1, Math.floor(value / 2)), maxval: value * 2 };
  if (value > 0) {
    const at = Math.log10(value);
    return { type: "log", base: 10, minval: roundNumber(at - 1), maxval: roundNumber(at + 1) };
  }
  return { type: "double", minval: 2 * value, maxval: roundNumber(value / 2) };
}
