import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { readFirstMessage } from "@/api/messages";
import { liveQuery } from "@/api/liveQueries";
import { addToTrials, selectWithMetric, type TrialPoints } from "@/api/trialPoints";
import type { Metric } from "@/api/trialQueries";
import type { Experiment, Message } from "@/api/types";
import { useExperimentStream } from "@/api/useExperimentStream";
import { useRefresh } from "@/api/useRefresh";
import { isTerminal } from "@/api/states";

type Trial = Message["Trial"];

/** The compared trials, and the experiments that they belong to, by id. */
export function useTrials(ids: readonly number[]) {
  const trials = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["compare", "trial", id],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const params = { path: { trial_id: id } };
        return (await unwrap(api.GET("/api/v1/trials/{trial_id}", { params, signal }))).trial ?? {};
      },
    })),
  });
  const known = trials.flatMap((each) => (each.data ? [each.data] : []));
  const experimentIds = [...new Set(known.map((trial) => trial.experimentId ?? 0))];
  const experiments = useQueries({
    queries: experimentIds.map((id) => ({
      queryKey: ["experiment", id],
      queryFn: ({ signal }: { signal: AbortSignal }) => {
        const params = { path: { experiment_id: id } };
        return unwrap(api.GET("/api/v1/experiments/{experiment_id}", { params, signal }));
      },
    })),
  });
  const byId = new Map(experimentIds.map((id, i) => [id, experiments[i]?.data?.experiment]));
  const error =
    trials.find((each) => each.error)?.error ??
    experiments.find((each) => each.error)?.error ??
    null;
  return { trials: known, experiments: byId, error };
}

// Validation first, then training.
const getGroupOrder = (group: string) =>
  group === "validation" ? 0 : group === "training" ? 1 : 2;

/** The metrics that any of the experiments reports. */
export function useNames(experimentIds: readonly number[]) {
  return useQuery({
    queryKey: ["compare", "names", experimentIds],
    enabled: experimentIds.length > 0,
    queryFn: async ({ signal }) => {
      const query = experimentIds.map((id) => `ids=${id}`).join("&");
      const path = `/api/v1/experiments/metrics-stream/metric-names?${query}`;
      const names = await readFirstMessage<Message["ExpMetricNamesResponse"]>(path, signal);
      return (names?.metricNames ?? [])
        .map(({ group = "", name = "" }): Metric => ({ group, name }))
        .sort((a, b) => getGroupOrder(a.group) - getGroupOrder(b.group));
    },
  });
}

const MAX_POINTS = 1000;

/**
 * One metric of all trials, downsampled by the master with peaks kept, plus later reports (useLiveUpdates).
 */
export function useCurves(trials: readonly Trial[], metric: Metric) {
  const byExperiment = new Map<number, number[]>();
  for (const { id = 0, experimentId = 0 } of trials) {
    byExperiment.set(experimentId, [...(byExperiment.get(experimentId) ?? []), id]);
  }
  return useQueries({
    queries: [...byExperiment].map(([experimentId, trialIds]) => ({
      ...liveQuery<TrialPoints[]>(experimentId, {
        queryKey: ["compare-live", experimentId, trialIds, metric],
        add: (known, points) =>
          addToTrials(known, points, metric, MAX_POINTS, (id) => trialIds.includes(id)),
        read: async (signal) => {
          const metricIds = [`${metric.group}.${metric.name}`];
          const query = { trialIds, metricIds, maxDatapoints: MAX_POINTS };
          const params = { query };
          const answer = await unwrap(api.GET("/api/v1/trials/time-series", { params, signal }));
          return (answer.trials ?? []).map(({ trial, metrics }) => ({
            trialId: trial?.id ?? 0,
            points: selectWithMetric(metrics?.[0]?.data ?? [], metric.name),
          }));
        },
      }),
      structuralSharing: false,
    })),
    combine: together,
  });
}

// At module level: the combined result then stays identical while the responses do.
const together = (
  answers: readonly { data: TrialPoints[] | undefined; error: Error | null }[],
) => ({
  points: answers.flatMap(({ data }) => data ?? []),
  error: answers.find(({ error }) => error)?.error ?? null,
});

/** Follows an experiment of compared trials: updates their curves and the table. */
export function useLiveUpdates(experimentId: number) {
  const client = useQueryClient();
  const refresh = useRefresh({ queryKey: ["compare", "trial"] }, 2000);
  const key = ["experiment", experimentId];
  useExperimentStream(experimentId, undefined, ({ experiment }) => {
    const known = client.getQueryData<{ experiment?: Experiment }>(key)?.experiment;
    if (experiment) {
      client.setQueryData<{ experiment?: Experiment }>(key, (old) => old && { ...old, experiment });
      refresh();
    }
    return !isTerminal(known?.state);
  });
}
