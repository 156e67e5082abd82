import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { metricNamesQuery, trialQuery, type Metric } from "@/api/trialQueries";
import type { Experiment } from "@/api/types";
import { liveQuery } from "@/api/liveQueries";
import { addToPoints, selectWithMetric } from "@/api/trialPoints";
import { useExperimentStream } from "@/api/useExperimentStream";
import { useStreamed } from "@/api/useStream";
import { isTerminal } from "@/api/states";
import type { Point } from "@/charts/points";

/** A trial, updated by the page's stream. */
export const useTrial = (id: number) => useQuery(trialQuery(id));

/** Follows the trial and its experiment: states and reports. */
export function useTrialNews(trialId: number, experimentId: number): Experiment | undefined {
  const client = useQueryClient();
  const key = ["experiment-now", experimentId];
  const own = trialQuery(trialId).queryKey;
  useExperimentStream(experimentId, trialId, ({ experiment, trial }) => {
    if (experiment) client.setQueryData(key, { experiment });
    const before = client.getQueryData(own);
    if (trial) {
      client.setQueryData(own, trial);
      const news = (of: typeof trial) => [of.state, of.checkpointCount, of.latestCheckpointUuid];
      if (before && news(before).join() !== news(trial).join()) {
        void client.invalidateQueries({ queryKey: ["trial", trialId, "checkpoints"] });
      }
    }
    // An ended trial has no missing reports.
    return !isTerminal(before?.state);
  });
  return useStreamed<{ experiment: Experiment }>(key)?.experiment;
}

/** The names of the experiment's metrics. */
export const useMetricNames = (experimentId: number) => useQuery(metricNamesQuery(experimentId));

const MAX_POINTS = 2000;

/** The points of a metric, downsampled by the master with peaks kept. */
export function usePoints(
  trialId: number,
  experimentId: number,
  { group, name }: Metric,
  isEnabled = true,
) {
  return useQuery({
    enabled: isEnabled,
    ...liveQuery<Point[]>(experimentId, {
      queryKey: ["trial-live", trialId, "points", group, name],
      add: (points, reported) =>
        addToPoints(points, reported, trialId, { group, name }, MAX_POINTS),
      read: async (signal) => {
        const metricIds = [`${group}.${name}`];
        const query = { trialIds: [trialId], metricIds, maxDatapoints: MAX_POINTS };
        const { trials = [] } = await unwrap(
          api.GET("/api/v1/trials/time-series", { params: { query }, signal }),
        );
        return selectWithMetric(trials[0]?.metrics?.[0]?.data ?? [], name);
      },
    }),
    placeholderData: keepPreviousData,
    structuralSharing: false,
  });
}

/** The trial's checkpoints, newest first. */
export function useCheckpoints(trialId: number) {
  return useQuery({
    queryKey: ["trial", trialId, "checkpoints"],
    queryFn: async ({ signal }) => {
      const params = { path: { id: trialId }, query: { orderBy: "ORDER_BY_DESC" as const } };
      const answer = await unwrap(api.GET("/api/v1/trials/{id}/checkpoints", { params, signal }));
      return answer.checkpoints ?? [];
    },
  });
}
