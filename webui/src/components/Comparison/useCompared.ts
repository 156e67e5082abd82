import { useQueries, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import { readLines } from "@/api/lines";
import type { Message } from "@/api/types";

/** The compared trials, and the experiments that they belong to, by id. */
export function useTrials(ids: readonly number[]) {
  const trials = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["compare", "trial", id],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const params = { path: { trial_id: id } };
        return (await dataOf(api.GET("/api/v1/trials/{trial_id}", { params, signal }))).trial ?? {};
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
        return dataOf(api.GET("/api/v1/experiments/{experiment_id}", { params, signal }));
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

// What is looked at first comes first.
const placeOf = (group: string) => (group === "validation" ? 0 : group === "training" ? 1 : 2);

/** The metrics that any of the experiments reports, as "group.name". */
export function useNames(experimentIds: readonly number[]) {
  return useQuery({
    queryKey: ["compare", "names", experimentIds],
    enabled: experimentIds.length > 0,
    queryFn: async ({ signal }) => {
      const query = experimentIds.map((id) => `ids=${id}`).join("&");
      const path = `/api/v1/experiments/metrics-stream/metric-names?${query}`;
      const [names] = await readLines<Message["ExpMetricNamesResponse"]>(path, signal);
      return (names?.metricNames ?? [])
        .map(({ group = "", name = "" }) => ({ group, name }))
        .sort((a, b) => placeOf(a.group) - placeOf(b.group))
        .map(({ group, name }) => `${group}.${name}`);
    },
  });
}

/** One metric of all of them, thinned out by the master so that peaks stay. */
export function useCurves(trialIds: readonly number[], metricId: string) {
  return useQuery({
    queryKey: ["compare", "curves", trialIds, metricId],
    structuralSharing: false,
    enabled: trialIds.length > 0,
    queryFn: async ({ signal }) => {
      const query = { trialIds: [...trialIds], metricIds: [metricId], maxDatapoints: 1000 };
      return (
        (await dataOf(api.GET("/api/v1/trials/time-series", { params: { query }, signal })))
          .trials ?? []
      );
    },
  });
}
