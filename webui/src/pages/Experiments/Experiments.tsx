import { useCallback, useEffect, useMemo, useState } from "react";
import { useSearchParams } from "react-router";
import { useOverview } from "@/api/useOverview";
import { useRefresh } from "@/api/useRefresh";
import { useIsDark } from "@/charts/theme";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { lazyPart } from "@/components/LazyPart/lazyPart";
import { DataTable } from "@/components/table/DataTable";
import { FilterError, getTerm, type FilterColumn } from "@/components/table/filter";
import { readView, writeView, type TableView } from "@/components/table/view";
import { formatCount } from "@/text";
import { useLatest } from "@/useLatest";
import { BulkBar } from "./BulkBar";
import { renderCell, toTableColumn } from "./cells";
import { ColumnPicker } from "./ColumnPicker";
import { Conditions } from "./Conditions";
import { Empty } from "./Empty";
import styles from "./Experiments.module.css";
import { FilterBar, FilterStatus } from "./FilterBar";
import { createHeat } from "./heat";
import { suggestColumnValues } from "./suggestedValues";
import { ProjectChip } from "./ProjectChip";
import { getNoun, rowsBetween, type Kind, type Row } from "./rows";
import { SavedViews } from "./SavedViews";
import { createDefaultView, toSearch } from "./search";
import { useColumns, useMetricRanges } from "./useColumns";
import { useDecimals } from "./useDecimals";
import { useDirections } from "./useDirections";
import { readAll, ROWS_KEY, useRows } from "./useRows";
import { guessColumn, isMetricName, makeExample } from "./words";

// The charts are loaded on demand.
const CompareDrawer = lazyPart(() => import("./CompareDrawer").then((part) => part.CompareDrawer));

const NONE: ReadonlyMap<number, Row | undefined> = new Map();
const RENEWAL = 5000; // ms

const createUnknownColumn = (column: string): FilterColumn => ({
  column,
  displayName: "",
  type: "COLUMN_TYPE_UNSPECIFIED",
});

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
  // Without a valid filter there are no rows: those of the last one are not the answer.
  const search = found instanceof FilterError ? undefined : found;
  const latestSearch = useLatest(search);
  const shown = view.columns.map((name) => {
    const column = columns.find((each) => each.column === name) ?? guessColumn(name);
    return column
      ? toTableColumn(column)
      : { ...toTableColumn(createUnknownColumn(name)), isLoading: !known && !columnsError };
  });
  const needsRuns = view.columns.some((name) => name.startsWith("metadata.") || isMetricName(name));
  const rows = useRows(search, needsRuns, from, to);
  const { total, rowAt, error, refetch, isPrevious } = rows;
  const isLoading = search ? rows.isLoading : !wrong && !columnsError;
  const overview = useOverview();
  const refresh = useRefresh({ queryKey: ROWS_KEY }, RENEWAL);
  useEffect(() => {
    if (overview) refresh();
  }, [overview, refresh]);

  const visibleRows = rowsBetween(rowAt, from, to);
  const decimals = useDecimals(view.columns, visibleRows, listing);
  const isHot = view.heat.length > 0;
  const { data: ranges, isLoading: areRangesLoading } = useMetricRanges(projectId, isHot);
  const directions = useDirections(visibleRows, isHot);
  const heats = new Map(
    areRangesLoading
      ? []
      : view.heat.map((name) => [name, createHeat(name, visibleRows, ranges, directions)]),
  );
  // Selected rows are kept when they are scrolled out of view.
  const select = (ids: ReadonlySet<number>) => {
    const seen = new Map(visibleRows.map((row) => [row.id, row]));
    setSelected(new Map([...ids].map((id) => [id, selected.get(id) ?? seen.get(id)])));
  };
  const selectAll = async () => {
    if (!search) return;
    const all = await readAll(search);
    // The filter may have changed meanwhile.
    if (latestSearch.current?.filter === search.filter) setSelected(all);
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
          isInvalid={wrong !== undefined}
          columns={columns.map(getTerm)}
          example={makeExample(columns)}
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
      </div>
      <FilterStatus
        sentence={view.filter}
        error={wrong}
        onSentence={(filter) => setView({ ...view, filter })}
        count={isLoading || isPrevious || error || !search ? "" : formatCount(total, getNoun(kind))}
      />
      {(error ?? columnsError) && <ErrorPanel error={error ?? columnsError} onRetry={retry} />}
      {!isLoading && total === 0 && !error ? (
        <Empty kind={kind} view={view} projectId={projectId} isSearched={search !== undefined} />
      ) : (
        <DataTable<Row>
          key={listing}
          label={kind === "runs" ? "Trials" : "Experiments"}
          columns={shown}
          count={isLoading ? 20 : total}
          rowAt={rowAt}
          getId={(row) => row.id}
          renderCell={(row, name) =>
            renderCell(row, name, heats.get(name)?.(row), isDark, decimals.get(name))
          }
          onRange={onRange}
          isPrevious={isPrevious}
          view={view}
          onView={setView}
          selected={new Set(selected.keys())}
          onSelect={select}
        />
      )}
      <BulkBar
        key={`selected ${listing}`}
        selected={new Set(selected.keys())}
        rows={[...selected]
          .map(([id, row]) => visibleRows.find((each) => each.id === id) ?? row)
          .filter((row) => row !== undefined)}
        hidesArchived={!view.showArchived}
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
