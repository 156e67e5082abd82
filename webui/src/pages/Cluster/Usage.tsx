import { useMemo } from "react";
import { useSearchParams } from "react-router";
import { save } from "@/charts/export";
import { formatFixed, formatNumber } from "@/charts/format";
import { LineChart } from "@/charts/LineChart";
import { useChartView } from "@/components/ChartView/useChartView";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Meter } from "@/components/Meter/Meter";
import { ScrollBox } from "@/components/Page/ScrollBox";
import styles from "./Cluster.module.css";
import {
  sumSlotHours,
  formatUsageCsv,
  formatUtilizationCsv,
  computeUtilization,
  type Used,
} from "./usage";
import { csvPath, SPANS, useAllocations } from "./useUsage";

/** The usage of the cluster over time and by user, workspace and pool. */
export function Usage() {
  const [params, setParams] = useSearchParams();
  const span = SPANS.find(({ name }) => name === params.get("span")) ?? SPANS[0];
  const { data, error } = useAllocations(span);
  const { view, onView } = useChartView("slots");
  const series = useMemo(
    () =>
      data ? computeUtilization(data.entries, data.capacity, data.from, data.to, span.unit) : [],
    [data, span],
  );
  if (error) return <ErrorPanel error={error} />;
  return (
    <>
      <div className={styles.tools}>
        <div role="group" aria-label="Time range" className={styles.spans}>
          {SPANS.map(({ name }) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === span.name}
              onClick={() => setParams({ span: name }, { replace: true })}
            >
              Last {name}
            </button>
          ))}
        </div>
        {data && (
          <>
            <a href={csvPath("allocations-csv", data)} download={`allocations-${span.name}.csv`}>
              Allocations (CSV)
            </a>
            <a href={csvPath("aggregated", data)} download={`usage-by-day-${span.name}.csv`}>
              Daily usage (CSV)
            </a>
          </>
        )}
      </div>
      {data?.entries.length === 0 && (
        <EmptyState command="det experiment create const.yaml .">
          No slots were used in the last {span.name}.
        </EmptyState>
      )}
      {data && data.entries.length > 0 && (
        <>
          <LineChart
            title="Slots in use"
            series={series}
            xLabel={span.unitName}
            formatX={formatNumber}
            height={220}
            view={view}
            onView={onView}
            readCsv={() => {
              const text = formatUtilizationCsv(data.entries, data.capacity, data.from, data.to);
              return Promise.resolve(new Blob([text], { type: "text/csv" }));
            }}
          />
          <div className={styles.columns}>
            <Table
              span={span.name}
              title="By user"
              head="User"
              rows={sumSlotHours(data.entries, "username")}
            />
            <Table
              span={span.name}
              title="By workspace"
              head="Workspace"
              rows={sumSlotHours(data.entries, "workspaceName")}
            />
            <Table
              span={span.name}
              title="By pool"
              head="Pool"
              rows={sumSlotHours(data.entries, "resourcePool")}
            />
          </div>
        </>
      )}
    </>
  );
}

interface TableProps {
  title: string;
  head: string;
  rows: readonly Used[];
  span: string;
}

function Table({ title, head, rows, span }: TableProps) {
  const all = rows.reduce((sum, row) => sum + row.slotHours, 0);
  const download = () => {
    const content = new Blob([formatUsageCsv(head, rows)], { type: "text/csv" });
    save(`usage ${title.toLowerCase()} ${span}.csv`, content);
  };
  return (
    <section aria-label={title}>
      <div className={styles.titled}>
        <h2>{title}</h2>
        <button
          type="button"
          className="plain"
          aria-label={`Export usage ${title.toLowerCase()} as CSV`}
          onClick={download}
        >
          CSV
        </button>
      </div>
      <ScrollBox label={title}>
        <table>
          <thead>
            <tr>
              <th>{head}</th>
              <th className="number">Slot-hours</th>
              <th>Share</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, slotHours }) => (
              <tr key={name}>
                <td>{name}</td>
                <td className="number">{formatFixed(slotHours, 2)}</td>
                <td className={styles.share}>
                  <Meter label={`Share of ${name}`} value={slotHours} all={all} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </section>
  );
}
