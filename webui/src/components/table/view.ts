/** The view of a table, kept in the address without default values. */
export interface TableView {
  /** The filter as typed. */
  filter: string;
  /** A text that a name, description or label must contain. */
  text: string;
  /** Column names from left to right. */
  columns: string[];
  /** The number of pinned columns from the left. */
  pinned: number;
  /** Widths in pixels of resized columns. */
  widths: Record<string, number>;
  sort: Sort[];
  /** Columns coloured by value. */
  heat: string[];
  showArchived: boolean;
  /** Whether rows are lower. */
  isCompact: boolean;
}

/** A column of a table. */
export interface TableColumn {
  name: string;
  head: string;
  isNumber: boolean;
  /** Default width in pixels. */
  width: number;
  /** Whether the head is not yet known. */
  isLoading?: boolean;
}

export interface Sort {
  column: string;
  isDescending: boolean;
}

/** Reads a view from an address; missing parameters have the defaults of `base`. */
export function readView(params: URLSearchParams, base: TableView): TableView {
  const list = (name: string, other: string[]) =>
    params.get(name)?.split(",").filter(Boolean).map(decodeSafely) ?? other;
  const pinned = Number(params.get("pin") ?? base.pinned);
  return {
    filter: params.get("filter") ?? base.filter,
    text: params.get("q") ?? base.text,
    columns: list("columns", base.columns),
    pinned: Number.isInteger(pinned) && pinned >= 0 ? pinned : base.pinned,
    widths: readWidths(params.get("widths"), base.widths),
    sort: params.has("sort") ? readSort(params.get("sort") ?? "") : base.sort,
    heat: list("heat", base.heat),
    showArchived: params.has("archived") ? params.get("archived") === "yes" : base.showArchived,
    isCompact: params.has("rows") ? params.get("rows") === "compact" : base.isCompact,
  };
}

/** Writes a view into an address and keeps its other parameters. */
export function writeView(
  params: URLSearchParams,
  view: TableView,
  base: TableView,
): URLSearchParams {
  const next = new URLSearchParams(params);
  const put = (name: string, value: string, normal: string) => {
    if (value === normal) next.delete(name);
    else next.set(name, value);
  };
  const list = (names: string[]) => names.map(encodeURIComponent).join(",");
  const widths = (of: TableView) =>
    Object.entries(of.widths)
      .map(([name, width]) => `${encodeURIComponent(name)}:${Math.round(width)}`)
      .join(",");
  put("filter", view.filter, base.filter);
  put("q", view.text, base.text);
  put("columns", list(view.columns), list(base.columns));
  put("pin", String(view.pinned), String(base.pinned));
  put("widths", widths(view), widths(base));
  put("sort", sortText(view.sort), sortText(base.sort));
  put("heat", list(view.heat), list(base.heat));
  put("archived", view.showArchived ? "yes" : "no", base.showArchived ? "yes" : "no");
  put("rows", view.isCompact ? "compact" : "usual", base.isCompact ? "compact" : "usual");
  return next;
}

/** The value of the API's `sort`: "hp.lr=asc,id=desc". */
export function sortText(sort: readonly Sort[]): string {
  return sort.map((by) => `${by.column}=${by.isDescending ? "desc" : "asc"}`).join(",");
}

/**
 * The sort after a click on a column's head: ascending, descending, unsorted.
 *
 * @param isAdded keeps the other sort columns (Shift-click).
 */
export function toggleSort(sort: readonly Sort[], column: string, isAdded: boolean): Sort[] {
  const now = sort.find((by) => by.column === column);
  const others = isAdded ? sort.filter((by) => by.column !== column) : [];
  if (!now) return [...others, { column, isDescending: false }];
  if (now.isDescending) return others;
  const next = { column, isDescending: true };
  return isAdded ? sort.map((by) => (by.column === column ? next : by)) : [next];
}

/** Moves a column to the position of another. */
export function moveColumn(columns: readonly string[], column: string, to: string): string[] {
  const target = columns.indexOf(to);
  if (target < 0 || column === to) return [...columns];
  const rest = columns.filter((name) => name !== column);
  return [...rest.slice(0, target), column, ...rest.slice(target)];
}

function readSort(text: string): Sort[] {
  return text
    .split(",")
    .map((part) => part.split("="))
    .filter(([column]) => column)
    .map(([column, order]) => ({ column: column ?? "", isDescending: order === "desc" }));
}

// Users edit addresses: accept a stray %.
function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readWidths(text: string | null, other: Record<string, number>): Record<string, number> {
  if (text === null) return other;
  const widths: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [name, width] = part.split(":");
    const pixels = Number(width);
    if (name && pixels >= 40 && pixels <= 2000) widths[decodeSafely(name)] = pixels;
  }
  return widths;
}
