import { Link } from "react-router";
import { viridis, needsDarkText } from "@/charts/colours";
import { formatBytes, formatFixed, formatNumber, toNumber } from "@/charts/format";
import { formatDuration } from "@/format";
import { State } from "@/components/State/State";
import type { Cell } from "@/components/table/DataTable";
import type { FilterColumn } from "@/components/table/filter";
import type { TableColumn } from "@/components/table/view";
import { Unmanaged } from "@/components/State/Unmanaged";
import { Time } from "@/components/Time/Time";
import { Value as ShortValue } from "@/components/Value/Value";
import { paths } from "@/paths";
import type { Heat } from "./heat";
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
  searcherMetricsVal: 170,
};

/** Converts an API column to a table column. */
export function toTableColumn(column: FilterColumn): TableColumn {
  const isNumber = column.type === "COLUMN_TYPE_NUMBER" && column.column !== "id";
  return {
    name: column.column,
    head: column.displayName || column.column.replace(/^hp\./, ""),
    isNumber,
    width: WIDTHS[column.column] ?? (isMetricName(column.column) ? 170 : isNumber ? 120 : 140),
  };
}

/** Renders a cell; coloured by `heat`, if given. `decimals` applies to metrics. */
export function renderCell(
  row: Row,
  column: string,
  heat: Heat | undefined,
  isDark: boolean,
  decimals?: number,
): Cell {
  const value = getValue(row, column);
  const content = renderContent(row, column, value, decimals);
  if (!heat) return { content };
  const { share, better } = heat;
  const colour = needsDarkText(share, isDark) ? "#000000" : "#ffffff";
  return { content, background: viridis(share, isDark), colour, title: better };
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
  if (isMetric(column)) return renderMetric(value, decimals);
  if (isChosen(column)) return <ShortValue value={value} />;
  return <span title={String(value)}>{String(value)}</span>;
}

const isChosen = (column: string) => /^(hp|metadata)\./.test(column);

/** A metric with the decimals of its column; the tooltip has every digit. */
function renderMetric(value: Value, decimals: number | undefined) {
  const raw = typeof value === "number" ? value : String(value);
  const number = toNumber(raw);
  if (!Number.isFinite(number)) return formatNumber(raw);
  const text = decimals === undefined ? formatNumber(number) : formatFixed(number, decimals);
  return <span title={String(number)}>{text}</span>;
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
