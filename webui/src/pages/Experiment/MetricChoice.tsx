import { useSearchParams } from "react-router";
import type { Metric } from "@/api/trialQueries";

/** Selects the metric of the page; the address keeps it. */
export function MetricChoice({ metrics, metric }: { metrics: readonly Metric[]; metric: Metric }) {
  const [params, setParams] = useSearchParams();
  return (
    <label>
      Metric{" "}
      <select
        value={`${metric.group}.${metric.name}`}
        onChange={(event) => {
          const next = new URLSearchParams(params);
          next.set("metric", event.target.value);
          setParams(next);
        }}
      >
        {metrics.map(({ group, name }) => (
          <option key={`${group}.${name}`} value={`${group}.${name}`}>
            {group} {name}
          </option>
        ))}
      </select>
    </label>
  );
}
