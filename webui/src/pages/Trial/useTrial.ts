import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import { readLines } from "@/api/lines";
import type { Experiment, Message } from "@/api/types";
import { useRenewal } from "@/api/useRenewal";
import { useMessages, useStreamed } from "@/api/useStream";
import type { Point } from "@/charts/points";

/** A trial, read again when its experiment changes: the page's one stream tells. */
export function useTrial(id: number) {
  return useQuery({
    queryKey: ["trial", id],
    queryFn: async ({ signal }) => {
      const { trial } = await dataOf(
        api.GET("/api/v1/trials/{trial_id}", { params: { path: { trial_id: id } }, signal }),
      );
      return trial ?? {};
    },
  });
}

/** Follows the trial's experiment; with its news the trial and its metrics are read again, twice a second at most. */
export function useNews(trialId: number, experimentId: number): Experiment | undefined {
  const client = useQueryClient();
  const key = ["experiment-now", experimentId];
  const renew = useRenewal({ queryKey: ["trial", trialId] }, 500);
  useMessages<{ experiment?: Experiment }>(
    `/api/v1/experiments/${experimentId}/watch`,
    (message) => {
      if (message.experiment) client.setQueryData(key, message);
      renew();
    },
  );
  return useStreamed<{ experiment: Experiment }>(key)?.experiment;
}

export interface Metric {
  group: string;
  name: string;
}

/** What the trials of the experiment report. */
export function useMetricNames(trialId: number, experimentId: number) {
  return useQuery({
    queryKey: ["trial", trialId, "names"],
    queryFn: async ({ signal }) => {
      const path = `/api/v1/experiments/metrics-stream/metric-names?ids=${experimentId}`;
      const [names] = await readLines<Message["ExpMetricNamesResponse"]>(path, signal);
      return (names?.metricNames ?? []).map(({ group = "", name = "" }): Metric => ({
        group,
        name,
      }));
    },
  });
}

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
