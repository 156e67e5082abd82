import { useMemo } from "react";
import { useSearchParams } from "react-router";
import { formatFixed, formatNumber } from "@/charts/format";
import { LineChart } from "@/charts/LineChart";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Meter } from "@/components/Meter/Meter";
import { ScrollBox } from "@/components/Page/ScrollBox";
import styles from "./Cluster.module.css";
import { usedBy, utilisationOf, type Used } from "./usage";
import { csvOf, SPANS, useAllocations } from "./useUsage";

/** Who has used how much of the cluster, and how full it was. */
export function Usage() {
  const [params, setParams] = useSearchParams();
  const span = SPANS.find(({ name }) => name === params.get("span")) ?? SPANS[0];
  const { data, error } = useAllocations(span);
  const series = useMemo(
    () => (data ? utilisationOf(data.entries, data.from, data.to, span.unit) : []),
    [data, span],
  );
  if (error) return <ErrorPanel error={error} />;
  return (
    <>
      <div className={styles.tools}>
        <div role="group" aria-label="Span" className={styles.spans}>
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
            <a href={csvOf("allocations-csv", data)} download={`allocations-${span.name}.csv`}>
              CSV of allocations
            </a>
            <a href={csvOf("aggregated", data)} download={`usage-by-day-${span.name}.csv`}>
              CSV by day
            </a>
          </>
        )}
      </div>
      {data?.entries.length === 0 && (
        <EmptyState command="det experiment create const.yaml .">
          Nothing has held a slot in the last {span.name}.
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
          />
          <div className={styles.columns}>
            <Table title="By user" head="User" rows={usedBy(data.entries, "username")} />
            <Table
              title="By workspace"
              head="Workspace"
              rows={usedBy(data.entries, "workspaceName")}
            />
            <Table title="By pool" head="Pool" rows={usedBy(data.entries, "resourcePool")} />
          </div>
        </>
      )}
    </>
  );
}

function Table({ title, head, rows }: { title: string; head: string; rows: readonly Used[] }) {
  const all = rows.reduce((sum, row) => sum + row.slotHours, 0);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
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
