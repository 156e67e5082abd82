import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import { metricNamesQuery, trialQuery, type Metric } from "@/api/trialQueries";
import type { Experiment } from "@/api/types";
import { useRenewal } from "@/api/useRenewal";
import { useMessages, useStreamed } from "@/api/useStream";
import { isTerminal } from "@/components/LogView/filters";
import type { Point } from "@/charts/points";

/** A trial, read again when its experiment changes: the page's one stream tells. */
export const useTrial = (id: number) => useQuery(trialQuery(id));

/** Follows the trial's experiment; with its news the trial and its metrics are read again, twice a second at most. */
export function useNews(trialId: number, experimentId: number): Experiment | undefined {
  const client = useQueryClient();
  const key = ["experiment-now", experimentId];
  const renew = useRenewal({ queryKey: ["trial", trialId] }, 500);
  useMessages<{ experiment?: Experiment }>(
    `/api/v1/experiments/${experimentId}/watch`,
    (message) => {
      const known = client.getQueryData<typeof message>(key)?.experiment;
      if (message.experiment) client.setQueryData(key, message);
      // The first message of what has ended is no news; a trial that was read before may have ended since.
      const { state } = client.getQueryData(trialQuery(trialId).queryKey) ?? {};
      const isOver = isTerminal(message.experiment?.state) && isTerminal(state);
      if (known !== undefined || !isOver) renew();
    },
  );
  return useStreamed<{ experiment: Experiment }>(key)?.experiment;
}

/** What the trials of the experiment report. */
export const useMetricNames = (trialId: number, experimentId: number) =>
  useQuery(metricNamesQuery(trialId, experimentId));

/** One metric's points, thinned out by the master so that its peaks stay. */
export function usePoints(trialId: number, { group, name }: Metric) {
  return useQuery({
    queryKey: ["trial", trialId, "points", group, name],
    placeholderData: keepPreviousData,
    structuralSharing: false,
    queryFn: async ({ signal }): Promise<Point[]> => {
      const query = { trialIds: [trialId], metricIds: [`${group}.${name}`], maxDatapoints: 2000 };
      const { trials = [] } = await dataOf(
        api.GET("/api/v1/trials/time-series", { params: { query }, signal }),
      );
      return trials[0]?.metrics?.[0]?.data ?? [];
    },
  });
}

/** The trial's checkpoints, the newest first. */
export function useCheckpoints(trialId: number) {
  return useQuery({
    queryKey: ["trial", trialId, "checkpoints"],
    queryFn: async ({ signal }) => {
      const params = { path: { id: trialId }, query: { orderBy: "ORDER_BY_DESC" as const } };
      const answer = await dataOf(api.GET("/api/v1/trials/{id}/checkpoints", { params, signal }));
      return answer.checkpoints ?? [];
    },
  });
}
