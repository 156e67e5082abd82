import { useCallback, useEffect, useMemo, useState } from "react";
import { useSearchParams } from "react-router";
import { useOverview } from "@/api/useOverview";
import { useRefresh } from "@/api/useRefresh";
import { useIsDark } from "@/charts/theme";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { lazyPart } from "@/components/LazyPart/lazyPart";
import { DataTable } from "@/components/table/DataTable";
import { FilterError } from "@/components/table/filter";
import { readView, writeView, type TableView } from "@/components/table/view";
import { formatCount } from "@/text";
import { useLatest } from "@/useLatest";
import { BulkBar } from "./BulkBar";
import { renderCell, toTableColumn } from "./cells";
import { ColumnPicker } from "./ColumnPicker";
import { Conditions } from "./Conditions";
import { Empty } from "./Empty";
import styles from "./Experiments.module.css";
import { FilterBar } from "./FilterBar";
import { suggestColumnValues } from "./suggestedValues";
import { ProjectChip } from "./ProjectChip";
import { getNoun, rowsBetween, getValue, type Kind, type Row } from "./rows";
import { SavedViews } from "./SavedViews";
import { createDefaultView, toSearch } from "./search";
import { useColumns, useMetricRanges, type MetricRange } from "./useColumns";
import { useDecimals } from "./useDecimals";
import { readAll, ROWS_KEY, useRows, type Search } from "./useRows";

// The charts are loaded on demand.
const CompareDrawer = lazyPart(() => import("./CompareDrawer").then((part) => part.CompareDrawer));

const NONE: ReadonlyMap<number, Row | undefined> = new Map();
const RENEWAL = 5000; // ms

/** All experiments or all trials as a table that the master searches and sorts. */
export default function Experiments() {
  const [params, setParams] = useSearchParams();
  const kind: Kind = params.get("of") === "runs" ? "runs" : "experiments";
  const projectId = Number(params.get("project") ?? 0) || undefined;
  const base = useMemo(() => createDefaultView(kind), [kind]);
  const view = useMemo(() => readView(params, base), [params, base]);
  const setView = (next: TableView) => setParams(writeView(params, next, base), { replace: true });
  // IDs of trials and experiments differ: a selection belongs to one listing.
  const listing = `${kind}/${projectId ?? ""}`;
  const [selection, setSelection] = useState({ listing, rows: NONE });
  const selected = selection.listing === listing ? selection.rows : NONE;
  const setSelected = (rows: ReadonlyMap<number, Row | undefined>) =>
    setSelection({ listing, rows });
  const [[from, to], setRange] = useState<[number, number]>([0, 50]);
  const onRange = useCallback((first: number, last: number) => setRange([first, last]), []);
  const isDark = useIsDark();

  const { data: known, error: columnsError, refetch: refetchColumns } = useColumns(kind, projectId);
  const columns = useMemo(() => known ?? [], [known]);
  const found = useMemo(
    () => toSearch(view, kind, projectId, columns),
    [view, kind, projectId, columns],
  );
  const wrong = found instanceof FilterError && known ? found : undefined;
  // While the filter is invalid, keep the rows of the last valid one.
  const [lastValid, setLastValid] = useState<Search>();
  const valid = found instanceof FilterError ? lastValid : found;
  if (valid !== lastValid) setLastValid(valid);
  const latestValid = useLatest(valid);
  const search = valid?.kind === kind && valid.projectId === projectId ? valid : undefined;
  const shown = view.columns.map(
    (name) =>
      columns.find((column) => column.column === name) ?? {
        column: name,
        displayName: "",
        location: "LOCATION_TYPE_UNSPECIFIED" as const,
        type: "COLUMN_TYPE_UNSPECIFIED" as const,
      },
  );
  const needsRuns = shown.some((each) => /^metadata\.|\.(last|min|max|mean)$/.test(each.column));
  const rows = useRows(search, needsRuns, from, to);
  const { total, rowAt, error, refetch } = rows;
  const isLoading = search ? rows.isLoading : !wrong && !columnsError;
  const overview = useOverview();
  const refresh = useRefresh({ queryKey: ROWS_KEY }, RENEWAL);
  useEffect(() => {
    if (overview) refresh();
  }, [overview, refresh]);

  const visibleRows = rowsBetween(rowAt, from, to);
  const decimals = useDecimals(view.columns, visibleRows, listing);
  const isHot = view.heat.length > 0;
  const { data: ends, isLoading: areRangesLoading } = useMetricRanges(projectId, isHot);
  const getRange = (name: string): MetricRange | undefined => {
    const known = ends?.get(name.replace(/\.(last|min|max|mean)$/, ""));
    if (known || areRangesLoading) return known;
    const values = visibleRows.map((row) => Number(getValue(row, name)));
    const finite = values.filter(Number.isFinite);
    return finite.length > 0 ? [Math.min(...finite), Math.max(...finite)] : undefined;
  };
  const ranges = new Map(view.heat.map((name) => [name, getRange(name)]));
  // Selected rows are kept when they are scrolled out of view.
  const select = (ids: ReadonlySet<number>) => {
    const seen = new Map(visibleRows.map((row) => [row.id, row]));
    setSelected(new Map([...ids].map((id) => [id, selected.get(id) ?? seen.get(id)])));
  };
  const selectAll = async () => {
    if (!search) return;
    const all = await readAll(search);
    // The filter may have changed meanwhile.
    if (latestValid.current?.filter === search.filter) setSelected(all);
  };
  const removeFromSelection = (removed: readonly number[]) =>
    setSelection((now) => {
      const rows = new Map([...now.rows].filter(([id]) => !removed.includes(id)));
      return now.listing === listing ? { listing, rows } : now;
    });
  const retry = () => {
    if (columnsError) void refetchColumns();
    if (error) refetch();
  };
  const compared = params.get("compare");
  const compare = (trials: string) => {
    const next = new URLSearchParams(params);
    if (trials) next.set("compare", trials);
    else next.delete("compare");
    setParams(next, { replace: true });
  };
  const switchTo = (of: Kind) => {
    setSelected(NONE);
    const project = params.get("project");
    setParams({ ...(of === "runs" && { of }), ...(project && { project }) });
  };
  const leaveProject = () => {
    const next = new URLSearchParams(params);
    next.delete("project");
    setParams(next);
  };

  return (
    <div className={styles.page}>
      <div className={styles.tools}>
        <h1 className="visually-hidden">Experiments</h1>
        <div role="group" aria-label="Row type" className={styles.kinds}>
          {(["experiments", "runs"] as const).map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={kind === each}
              onClick={() => switchTo(each)}
            >
              {each === "runs" ? "Trials" : "Experiments"}
            </button>
          ))}
        </div>
        {projectId && <ProjectChip id={projectId} onClear={leaveProject} />}
        <FilterBar
          view={view}
          onView={setView}
          error={wrong}
          columns={columns.map((c) => c.column)}
        />
        <Conditions
          sentence={view.filter}
          onSentence={(filter) => setView({ ...view, filter })}
          columns={columns}
          suggestValues={(column) => suggestColumnValues(column, visibleRows)}
        />
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={view.showArchived}
            onChange={(event) => setView({ ...view, showArchived: event.target.checked })}
          />{" "}
          Show archived
        </label>
        <ColumnPicker columns={columns} view={view} onView={setView} />
        <SavedViews query={params.toString()} />
        <span className={styles.count} role="status">
          {isLoading || !search ? "" : formatCount(total, getNoun(kind))}
        </span>
      </div>
      {(error ?? columnsError) && <ErrorPanel error={error ?? columnsError} onRetry={retry} />}
      {!isLoading && total === 0 && !error ? (
        <Empty kind={kind} view={view} projectId={projectId} isSearched={search !== undefined} />
      ) : (
        <DataTable<Row>
          key={listing}
          label={kind === "runs" ? "Trials" : "Experiments"}
          columns={shown.map(toTableColumn)}
          count={isLoading ? 20 : total}
          rowAt={rowAt}
          getId={(row) => row.id}
          renderCell={(row, name) =>
            renderCell(row, name, ranges.get(name), isDark, decimals.get(name))
          }
          onRange={onRange}
          view={view}
          onView={setView}
          selected={new Set(selected.keys())}
          onSelect={select}
        />
      )}
      <BulkBar
        key={`selected ${listing}`}
        selected={new Set(selected.keys())}
        rows={[...selected.values()].filter((row) => row !== undefined)}
        kind={kind}
        found={total}
        onAll={selectAll}
        onCompare={(trials) => compare(trials.join(","))}
        onClear={() => setSelected(NONE)}
        onGone={removeFromSelection}
      />
      {compared && <CompareDrawer trials={compared} onClose={() => compare("")} />}
    </div>
  );
}
