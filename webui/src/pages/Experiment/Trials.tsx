import { useCallback, useMemo, useState } from "react";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Experiment, Message } from "@/api/types";
import { countDecimals, formatFixed, toNumber } from "@/charts/format";
import { formatDuration } from "@/format";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { LogPolicy } from "@/components/State/LogPolicy";
import { State } from "@/components/State/State";
import { DataTable, type Cell } from "@/components/table/DataTable";
import { Time } from "@/components/Time/Time";
import { Value } from "@/components/Value/Value";
import { readView, writeView, type TableColumn, type TableView } from "@/components/table/view";
import { paths } from "@/paths";
import styles from "./Experiment.module.css";

type Run = Message["FlatRun"];
const PAGE = 100;

const COLUMNS: TableColumn[] = [
  { name: "id", head: "Trial", isNumber: false, width: 90 },
  { name: "state", head: "State", isNumber: false, width: 140 },
  { name: "searcherMetricsVal", head: "Searcher metric", isNumber: true, width: 140 },
  { name: "checkpointCount", head: "Checkpoints", isNumber: true, width: 110 },
  { name: "startTime", head: "Started", isNumber: false, width: 120 },
  { name: "duration", head: "Duration", isNumber: true, width: 100 },
];

/** The trials of the experiment with their hyperparameters, sorted by the master. */
export function Trials({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const [params, setParams] = useSearchParams();
  const names = getHparamNames(experiment);
  const columns = [
    ...COLUMNS,
    ...names.map((name) => ({
      name: `hp.${name}`,
      head: name,
      isNumber: isNumeric(experiment, name),
      width: 120,
    })),
  ];
  const base: TableView = {
    filter: "",
    text: "",
    pinned: 1,
    widths: {},
    heat: [],
    showArchived: true,
    isCompact: false,
    columns: columns.map((column) => column.name),
    sort: [{ column: "id", isDescending: false }],
  };
  const view = readView(params, base);
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const [[from, to], setRange] = useState<[number, number]>([0, 50]);
  const onRange = useCallback((first: number, last: number) => setRange([first, last]), []);
  const sort = view.sort.map((by) => `${by.column}=${by.isDescending ? "desc" : "asc"}`).join(",");
  const { total, rowAt, error } = useTrials(id, sort, from, to);
  const values = Array.from({ length: to - from }, (_, i) =>
    toNumber(rowAt(from + i)?.searcherMetricValue),
  );
  const decimals = countDecimals(values);
  // Labels by log policies need room beside the state.
  const isLabelled = values.some((_, i) => rowAt(from + i)?.logPolicyMatched);
  const shown = columns.map((column) =>
    isLabelled && column.name === "state" ? { ...column, width: 240 } : column,
  );
  return (
    <div className={`${styles.stack} ${styles.full}`}>
      {error && <ErrorPanel error={error} />}
      <p className={styles.reason} role="status">
        {selected.size === 0 ? (
          "Select trials to compare them."
        ) : (
          <>
            {selected.size} selected: <Link to={paths.compare([...selected])}>Compare</Link>
          </>
        )}
      </p>
      <DataTable<Run>
        label="Trials"
        columns={view.columns.flatMap((name) => shown.filter((column) => column.name === name))}
        count={total}
        rowAt={rowAt}
        getId={(run) => run.id ?? 0}
        renderCell={(run, column) => renderCell(run, column, decimals)}
        onRange={onRange}
        view={view}
        onView={(next) => setParams(writeView(params, next, base), { replace: true })}
        selected={selected}
        onSelect={setSelected}
      />
    </div>
  );
}

/** The paths of the hyperparameters in a configuration, without those that only contain others. */
export function getHparamNames(experiment: Experiment): string[] {
  const names: string[] = [];
  const walk = (value: unknown, path: string) => {
    if (typeof value !== "object" || value === null || "type" in value || Array.isArray(value)) {
      names.push(path);
      return;
    }
    for (const [name, inside] of Object.entries(value))
      walk(inside, path ? `${path}.${name}` : name);
  };
  const config = experiment.config as { hyperparameters?: Record<string, unknown> } | undefined;
  for (const [name, value] of Object.entries(config?.hyperparameters ?? {})) walk(value, name);
  return names.sort();
}

/** Whether the configuration allows only numbers for a hyperparameter. */
function isNumeric(experiment: Experiment, path: string): boolean {
  const config = experiment.config as { hyperparameters?: unknown } | undefined;
  let range = config?.hyperparameters;
  for (const name of path.split("."))
    range = (range as Record<string, unknown> | null | undefined)?.[name];
  if (typeof range !== "object" || range === null) return typeof range === "number";
  const { type, val, vals } = range as { type?: string; val?: unknown; vals?: unknown[] };
  if (type === "const") return typeof val === "number";
  if (type === "categorical") return vals?.every((each) => typeof each === "number") ?? false;
  return type !== undefined;
}

/** A trial's hyperparameter by path. */
export function getHparam(hparams: unknown, path: string): string | number | undefined {
  let value: unknown = hparams;
  for (const name of path.split("."))
    value = (value as Record<string, unknown> | undefined)?.[name];
  if (value === undefined || value === null) return undefined;
  return typeof value === "number" || typeof value === "string" ? value : JSON.stringify(value);
}

function Metric({ value, decimals }: { value: number | string | undefined; decimals: number }) {
  if (value === undefined) return "–";
  return <span title={String(value)}>{formatFixed(toNumber(value), decimals)}</span>;
}

/** A trial that waits for its slots has not run yet. */
const formatRunTime = ({ trialState, duration = 0 }: Run) =>
  trialState === "STATE_QUEUED" ? "–" : formatDuration(duration);

function renderCell(run: Run, column: string, decimals: number): Cell {
  const id = run.id ?? 0;
  if (column === "id") return { content: <Link to={paths.trial(id)}>{id}</Link> };
  if (column === "state") {
    return {
      content: (
        <>
          <State state={run.trialState ?? run.state} /> <LogPolicy name={run.logPolicyMatched} />
        </>
      ),
    };
  }
  if (column === "searcherMetricsVal")
    return { content: <Metric value={run.searcherMetricValue} decimals={decimals} /> };
  if (column === "startTime") return { content: <Time at={run.startTime} /> };
  if (column === "duration") return { content: formatRunTime(run) };
  if (column === "checkpointCount") return { content: run.checkpointCount };
  return { content: <Value value={getHparam(run.hyperparameters, column.slice("hp.".length))} /> };
}

function useTrials(id: number, sort: string, from: number, to: number) {
  const filter = useMemo(() => {
    const children = [{ kind: "field", columnName: "experimentId", operator: "=", value: id }];
    return JSON.stringify({
      showArchived: true,
      filterGroup: { kind: "group", conjunction: "and", children },
    });
  }, [id]);
  const getQueryOptions = (page: number) => ({
    queryKey: ["experiment-parts", id, "trials", sort, page],
    gcTime: 30_000,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      unwrap(
        api.POST("/api/v1/runs", {
          body: { filter, sort, offset: page * PAGE, limit: PAGE },
          signal,
        }),
      ),
  });
  const first = useQuery({ ...getQueryOptions(0), placeholderData: keepPreviousData });
  const total = first.data?.pagination?.total ?? 0;
  const last = Math.floor(Math.max(0, Math.min(to, total) - 1) / PAGE);
  const pages: number[] = [];
  for (let page = Math.max(1, Math.floor(from / PAGE)); page <= last; page++) pages.push(page);
  const others = useQueries({ queries: pages.map(getQueryOptions) });
  const rowAt = (index: number): Run | undefined => {
    const page = Math.floor(index / PAGE);
    return (page === 0 ? first.data : others[pages.indexOf(page)]?.data)?.runs?.[index % PAGE];
  };
  return { total, rowAt, error: first.error ?? others.find((each) => each.error)?.error };
}
