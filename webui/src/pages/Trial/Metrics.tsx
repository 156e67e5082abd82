import { useMemo } from "react";
import { useSearchParams } from "react-router";
import type { Message } from "@/api/types";
import { LineChart } from "@/charts/LineChart";
import { columnsOf, X_AXES, type XAxis } from "@/charts/points";
import type { Series } from "@/charts/series";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { duration } from "@/format";
import styles from "./Trial.module.css";
import { useCheckpoints, useMetricNames, usePoints, type Metric } from "./useTrial";

type Trial = Message["Trial"];

// What the machine reports of itself, and not the training.
const isSystem = ({ group }: Metric) => /^(system|cpu|gpu|memory|disk|net|profil)/i.test(group);

/** The trial's metrics, a chart each, by group: training, validation, then its own. */
export function Metrics({ trial }: { trial: Trial }) {
  return <Charts trial={trial} accept={(metric) => !isSystem(metric)} empty="No metric yet." />;
}

/** What the machine was doing meanwhile. */
export function System({ trial }: { trial: Trial }) {
  return <Charts trial={trial} accept={isSystem} empty="No system metric was reported." />;
}

interface Props {
  trial: Trial;
  accept: (metric: Metric) => boolean;
  empty: string;
}

function Charts({ trial, accept, empty }: Props) {
  const id = trial.id ?? 0;
  const [params, setParams] = useSearchParams();
  const { data: names, error } = useMetricNames(id, trial.experimentId ?? 0);
  const { data: checkpoints = [] } = useCheckpoints(id);
  const axis = X_AXES.find((each) => each === params.get("x")) ?? "batches";
  if (error) return <ErrorPanel error={error} />;
  if (!names) return null;
  const metrics = names.filter(accept);
  if (metrics.length === 0) {
    return <EmptyState command={`det trial logs -f ${id}`}>{empty}</EmptyState>;
  }
  const groups = [...new Set(metrics.map((metric) => metric.group))].sort(
    (a, b) => placeOf(a) - placeOf(b) || a.localeCompare(b),
  );
  const lengths = checkpoints.map((checkpoint) =>
    Number((checkpoint.metadata as { steps_completed?: number } | undefined)?.steps_completed),
  );
  return (
    <div className={styles.stack}>
      <label>
        x is{" "}
        <select
          value={axis}
          onChange={(event) => {
            const next = new URLSearchParams(params);
            next.set("x", event.target.value);
            setParams(next, { replace: true });
          }}
        >
          {X_AXES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      {groups.map((group) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{group}</h2>
          <div className={styles.charts}>
            {metrics
              .filter((metric) => metric.group === group)
              .map((metric) => (
                <MetricChart
                  key={metric.name}
                  trialId={id}
                  metric={metric}
                  axis={axis}
                  checkpoints={axis === "batches" ? lengths.filter(Number.isFinite) : []}
                />
              ))}
          </div>
        </section>
      ))}
    </div>
  );
}

const placeOf = (group: string) => (group === "training" ? 0 : group === "validation" ? 1 : 2);

interface ChartProps {
  trialId: number;
  metric: Metric;
  axis: XAxis;
  checkpoints: readonly number[];
}

function MetricChart({ trialId, metric, axis, checkpoints }: ChartProps) {
  const { data: points, error } = usePoints(trialId, metric);
  const lengths = checkpoints.join();
  const series = useMemo((): Series[] => {
    const columns = columnsOf(points ?? [], metric.name, axis);
    if (columns.x.length === 0) return [];
    const ticks = lengths === "" ? [] : lengths.split(",").map(Number);
    return [{ id: metric.name, label: metric.name, rank: 0, ...columns, checkpoints: ticks }];
  }, [points, metric.name, axis, lengths]);
  if (error) return <ErrorPanel error={error} />;
  return (
    <LineChart
      title={metric.name}
      series={series}
      xLabel={axis}
      syncKey="trial"
      {...(axis === "time" && { formatX: duration })}
    />
  );
}
