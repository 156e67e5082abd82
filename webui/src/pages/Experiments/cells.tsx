import { Link } from "react-router";
import { viridis, needsDarkText } from "@/charts/colours";
import { formatBytes, formatFixed, formatNumber } from "@/charts/format";
import { formatDuration } from "@/format";
import { State } from "@/components/State/State";
import type { Cell } from "@/components/table/DataTable";
import type { FilterColumn } from "@/components/table/filter";
import type { TableColumn } from "@/components/table/view";
import { Unmanaged } from "@/components/State/Unmanaged";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { getValue, type Row, type Value } from "./rows";
import { isMetricName } from "./words";

const WIDTHS: Record<string, number> = {
  id: 72,
  name: 240,
  experimentName: 240,
  description: 280,
  progress: 90,
  numTrials: 80,
  state: 130,
  startTime: 140,
  endTime: 140,
  tags: 160,
  searcherMetricsVal: 160,
};

/** Converts an API column to a table column. */
export function toTableColumn(column: FilterColumn): TableColumn {
  const isNumber = column.type === "COLUMN_TYPE_NUMBER" && column.column !== "id";
  return {
    name: column.column,
    head: column.displayName || column.column.replace(/^hp\./, ""),
    isNumber,
    width: WIDTHS[column.column] ?? (isNumber ? 120 : 140),
  };
}

/** Renders a cell; coloured by its position within `range`, if given. `decimals` applies to metrics. */
export function renderCell(
  row: Row,
  column: string,
  range: readonly [number, number] | undefined,
  isDark: boolean,
  decimals?: number,
): Cell {
  const value = getValue(row, column);
  const content = renderContent(row, column, value, decimals);
  if (!range || typeof value !== "number") return { content };
  const share = range[1] > range[0] ? (value - range[0]) / (range[1] - range[0]) : 0.5;
  const colour = needsDarkText(share, isDark) ? "#000000" : "#ffffff";
  return { content, background: viridis(share, isDark), colour };
}

function renderContent(
  row: Row,
  column: string,
  value: Value,
  decimals: number | undefined,
): Cell["content"] {
  if (column === "state") return <State state={value as string | undefined} />;
  if (value === undefined || value === "") return <span aria-label="none">–</span>;
  const to = getPagePath(row, column);
  if (to)
    return (
      <>
        <Link to={to}>{String(value)}</Link>
        {isUnmanaged(row) && (column === "name" || column === "experimentName") && (
          <>
            {" "}
            <Unmanaged />
          </>
        )}
      </>
    );
  if (column === "startTime" || column === "endTime") return <Time at={String(value)} />;
  if (column === "duration") return formatDuration(Number(value));
  if (column === "checkpointSize") return formatBytes(Number(value));
  if (column === "progress" || column === "experimentProgress")
    return `${Math.floor(Number(value) * 100)} %`;
  if (Array.isArray(value)) return value.join(", ") || "–";
  if (isMetric(column) && typeof value === "number" && decimals !== undefined)
    return formatFixed(value, decimals);
  if (isMetric(column)) return formatNumber(typeof value === "boolean" ? String(value) : value);
  return <span title={String(value)}>{String(value)}</span>;
}

/** Whether a column contains a metric. */
export function isMetric(column: string): boolean {
  return column === "searcherMetricsVal" || isMetricName(column);
}

const isUnmanaged = ({ experiment, run }: Row) =>
  experiment?.unmanaged ?? run?.experiment?.unmanaged ?? false;

function getPagePath(row: Row, column: string): string | undefined {
  if (row.kind === "experiments") {
    return column === "id" || column === "name" ? paths.experiment(row.id) : undefined;
  }
  if (column === "id" || column === "localId") return paths.trial(row.id);
  const isExperiment = column === "experimentId" || column === "experimentName";
  return isExperiment ? paths.experiment(row.run?.experiment?.id ?? 0) : undefined;
}
