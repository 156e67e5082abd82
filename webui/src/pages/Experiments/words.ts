import type { ColumnType, FilterColumn } from "@/components/table/filter";
import { quoted } from "@/components/table/sentence";

type Words = readonly [head: string, type?: ColumnType];

const NUMBER = "COLUMN_TYPE_NUMBER";
const DATE = "COLUMN_TYPE_DATE";

// The heads of the API's fixed columns in the words of the dashboard: the API calls experiments "searches", trials
// "runs" and labels "tags". Their types, for the time before the columns are loaded.
const FIXED: Readonly<Record<string, Words>> = {
  id: ["ID"],
  name: ["Name"],
  description: ["Description"],
  state: ["State"],
  tags: ["Labels"],
  user: ["User"],
  progress: ["Progress", NUMBER],
  numTrials: ["Trials", NUMBER],
  duration: ["Duration", NUMBER],
  startTime: ["Started", DATE],
  endTime: ["Ended", DATE],
  searcherType: ["Searcher"],
  searcherMetric: ["Searcher metric"],
  searcherMetricsVal: ["Searcher metric value", NUMBER],
  resourcePool: ["Resource pool"],
  checkpointSize: ["Checkpoint size", NUMBER],
  checkpointCount: ["Checkpoints", NUMBER],
  forkedFrom: ["Forked from", NUMBER],
  projectId: ["Project ID", NUMBER],
  archived: ["Archived"],
  parentArchived: ["Project archived"],
  externalExperimentId: ["External experiment ID"],
  externalTrialId: ["External trial ID"],
  externalRunId: ["External trial ID"],
  localId: ["Trial key"],
  experimentId: ["Experiment ID", NUMBER],
  experimentName: ["Experiment"],
  experimentDescription: ["Experiment description"],
  experimentProgress: ["Experiment progress", NUMBER],
  isExpMultitrial: ["Part of a search"],
};

/** Names a column of the API in the words of the dashboard; the API's own name stays usable in filters. */
export function renameColumn<C extends FilterColumn>(column: C): C {
  const [head] = FIXED[column.column] ?? [];
  const isList = column.column === "tags";
  return {
    ...column,
    ...(head && { displayName: head, aliases: [column.displayName] }),
    // The API knows no lists here, but only some operators apply to them.
    ...(isList && { type: "COLUMN_TYPE_ARRAY" as const, term: "labels" }),
  };
}

/** A column before the columns are loaded, as far as its name tells; undefined if it does not. */
export function guessColumn(name: string): FilterColumn | undefined {
  const [head, type = "COLUMN_TYPE_TEXT"] = FIXED[name] ?? [];
  if (head) return { column: name, displayName: head, type };
  return isMetricName(name) ? { column: name, displayName: "", type: NUMBER } : undefined;
}

/** Whether a column contains a summary of a reported metric. */
export const isMetricName = (column: string) =>
  /\.(last|min|max|mean)$/.test(column) && !/^(hp|metadata)\./.test(column);

/** An example of a filter that works with these columns. */
export function makeExample(columns: readonly FilterColumn[]): string {
  const numbers = columns.filter(({ column, type }) => /^hp\./.test(column) && type === NUMBER);
  const rate = numbers.find(({ column }) => /^hp\.(lr|learning_rate)$/.test(column));
  if (rate) return `state is running and ${rate.column.slice("hp.".length)} < 0.01`;
  const [first] = numbers;
  return first
    ? `state is running and ${quoted(first.column)} < 1`
    : "state is running and labels contains baseline";
}
