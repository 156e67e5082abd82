import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Experiment } from "@/api/types";
import { toNumber } from "@/charts/format";
import { HeatMap } from "@/charts/HeatMap";
import { ParallelCoordinates, type Axis } from "@/charts/ParallelCoordinates";
import { ScatterChart } from "@/charts/ScatterChart";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { formatCount } from "@/text";
import styles from "./Experiment.module.css";
import { getHparamNames, getHparam } from "./Trials";

// More lines cannot be distinguished.
const MAX_SHOWN = 1000;

/** The searcher metric by hyperparameters. */
export function Hyperparameters({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const {
    data: runs = [],
    error,
    isLoading,
  } = useQuery({
    queryKey: ["experiment-parts", id, "choices"],
    queryFn: async ({ signal }) => {
      const children = [
        { kind: "field", columnName: "experimentId", operator: "=", value: id },
        { kind: "field", columnName: "searcherMetricsVal", operator: "notEmpty", value: null },
      ];
      const filter = JSON.stringify({
        showArchived: true,
        filterGroup: { kind: "group", conjunction: "and", children },
      });
      const order = isSmallerBetter(experiment) ? "asc" : "desc";
      const body = { filter, limit: MAX_SHOWN, sort: `searcherMetricsVal=${order}` };
      return (await unwrap(api.POST("/api/v1/runs", { body, signal }))).runs ?? [];
    },
  });
  if (error) return <ErrorPanel error={error} />;
  const metric = experiment.searcherMetric ?? "metric";
  const values = runs.map((run) => toNumber(run.searcherMetricValue));
  const axes = getHparamNames(experiment)
    .map((name) => ({
      name,
      values: runs.map((run) => getHparam(run.hyperparameters, name)),
      isLog: getHparamType(experiment, name) === "log",
    }))
    .filter((axis) => new Set(axis.values).size > 1);
  if (!isLoading && (runs.length === 0 || axes.length === 0)) {
    return (
      <EmptyState command="det experiment create adaptive.yaml .">
        {runs.length === 0
          ? `No trial has reported ${metric} yet.`
          : "All trials have the same hyperparameters."}
      </EmptyState>
    );
  }
  return (
    <div className={styles.stack}>
      <h2>
        {formatCount(runs.length, "trial")} by {metric}. Drag on an axis to filter.
      </h2>
      <ParallelCoordinates
        axes={[...axes, { name: metric, values }]}
        colourBy={values}
        smallerIsBetter={isSmallerBetter(experiment)}
      />
      {axes.length > 1 && (
        <Interaction
          axes={axes}
          values={values}
          metric={metric}
          smallerIsBetter={isSmallerBetter(experiment)}
        />
      )}
      <h2>{metric} by hyperparameter</h2>
      <div className={styles.choices}>
        {axes.map((axis) => (
          <ScatterChart
            key={axis.name}
            title={axis.name}
            x={axis.values}
            y={values}
            labels={runs.map((run) => `trial ${run.id ?? 0}`)}
            isLog={axis.isLog}
          />
        ))}
      </div>
    </div>
  );
}

interface InteractionProps {
  axes: readonly Axis[];
  values: readonly number[];
  metric: string;
  smallerIsBetter: boolean;
}

/** The heat map of two hyperparameters; the address keeps the choice. */
function Interaction({ axes, ...rest }: InteractionProps) {
  const [params, setParams] = useSearchParams();
  const choose = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    next.set(name, value);
    setParams(next, { replace: true });
  };
  const find = (name: string, other: number) =>
    axes.find((axis) => axis.name === params.get(name)) ?? axes[other];
  const across = find("across", 0);
  const down = find("down", across === axes[1] ? 0 : 1);
  if (!across || !down) return null;
  const choice = (label: string, param: string, axis: Axis) => (
    <label>
      {label}{" "}
      <select value={axis.name} onChange={(e) => choose(param, e.target.value)}>
        {axes.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      <div className={styles.choices}>
        <h2>Interaction</h2>
        {choice("X axis", "across", across)}
        {choice("Y axis", "down", down)}
      </div>
      <HeatMap across={across} down={down} {...rest} />
    </>
  );
}

function isSmallerBetter(experiment: Experiment): boolean {
  const config = experiment.config as { searcher?: { smaller_is_better?: boolean } } | undefined;
  return config?.searcher?.smaller_is_better ?? true;
}

function getHparamType(experiment: Experiment, path: string): unknown {
  let value: unknown = (experiment.config as { hyperparameters?: unknown } | undefined)
    ?.hyperparameters;
  for (const name of path.split("."))
    value = (value as Record<string, unknown> | undefined)?.[name];
  return (value as { type?: unknown } | undefined)?.type;
}
