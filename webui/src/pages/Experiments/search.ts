import {
  FilterError,
  formatFilter,
  parseFilter,
  type FilterColumn,
  type FilterNode,
} from "@/components/table/filter";
import { sortText, type TableView } from "@/components/table/view";
import type { Kind } from "./rows";
import type { Search } from "./useRows";

/** The default view. */
export function createDefaultView(kind: Kind): TableView {
  const columns =
    kind === "runs"
      ? ["id", "experimentName", "state", "searcherMetricsVal", "startTime", "duration"]
      : [
          "id",
          "name",
          "state",
          "progress",
          "numTrials",
          "searcherMetricsVal",
          "startTime",
          "duration",
          "user",
        ];
  return {
    filter: "",
    text: "",
    columns,
    pinned: 2,
    widths: {},
    heat: [],
    showArchived: false,
    isCompact: false,
    sort: [{ column: "id", isDescending: true }],
  };
}

/** Converts a view to an API search, or returns the error in its filter. */
export function toSearch(
  view: TableView,
  kind: Kind,
  projectId: number | undefined,
  columns: readonly FilterColumn[],
): Search | FilterError {
  try {
    const group = parseFilter(view.filter, columns);
    const children: FilterNode[] = [
      ...(group.children.length > 0 ? [group] : []),
      ...toTextFilter(view.text, kind),
    ];
    const filter = formatFilter({ kind: "group", conjunction: "and", children }, view.showArchived);
    return { kind, projectId, filter, sort: sortText(view.sort) };
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
}

// Matches the text in name, description or labels.
function toTextFilter(text: string, kind: Kind): FilterNode[] {
  if (!text.trim()) return [];
  const names =
    kind === "runs"
      ? ["experimentName", "experimentDescription", "tags"]
      : ["name", "description", "tags"];
  const children = names.map((columnName): FilterNode => {
    const type = columnName === "tags" ? "COLUMN_TYPE_ARRAY" : "COLUMN_TYPE_TEXT";
    return { kind: "field", columnName, type, operator: "contains", value: text.trim() };
  });
  return [{ kind: "group", conjunction: "or", children }];
}
