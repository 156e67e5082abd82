import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import { readLines, queryOf } from "@/api/lines";
import type { Message } from "@/api/types";
import { useRenewal } from "@/api/useRenewal";
import { useMessages } from "@/api/useStream";
import { isTerminal } from "@/components/LogView/filters";
import { toSeries } from "./curves";
import type { Origin } from "./propose";

type Experiment = Message["Experiment"];

/** An experiment with its configuration, kept up to date by the page's one stream. */
export function useExperiment(id: number) {
  const client = useQueryClient();
  const read = useQuery({
    queryKey: ["experiment", id],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/v1/experiments/{experiment_id}", {
          params: { path: { experiment_id: id } },
          signal,
        }),
      ),
  });
  // News come in bursts: what hangs on them is read again twice a second at most, and with the 300 ms
  // for which the master gathers metrics a report is on the page within a second.
  const renewParts = useRenewal({ queryKey: ["experiment-parts", id] }, 500);
  const own = { queryKey: ["experiment", id], exact: true };
  const renew = useRenewal(own, 1000);
  const { live } = useMessages<{ experiment?: Experiment }>(
    `/api/v1/experiments/${id}/watch`,
    ({ experiment }) => {
      // News of metrics alone.
      if (!experiment) {
        renewParts();
        return;
      }
      const known = client.getQueryData<typeof read.data>(own.queryKey)?.experiment;
      // What had ended when it was read brings no news.
      const isNews = !(isTerminal(experiment.state) && known?.state === experiment.state);
      // One copy alone: a second one would hide what is read after it, as the notes that were saved.
      client.setQueryData<typeof read.data>(own.queryKey, (old) => old && { ...old, experiment });
      // A read that is under way may bring what was before this message.
      if (client.isFetching(own) > 0) renew();
      if (isNews) renewParts();
    },
  );
  const experiment: Experiment | undefined = read.data?.experiment;
  return { experiment, error: read.error, refetch: read.refetch, isLive: live };
}

/** A metric by its group and name. */
export interface Metric {
  group: string;
  name: string;
}

/** The metrics that the experiment's trials report. */
export function useMetricNames(id: number) {
  return useQuery({
    queryKey: ["experiment-parts", id, "metrics"],
    queryFn: async ({ signal }) => {
      const path = `/api/v1/experiments/metrics-stream/metric-names?ids=${id}`;
      const [names] = await readLines<Message["ExpMetricNamesResponse"]>(path, signal);
      return (names?.metricNames ?? []).map(({ group = "", name = "" }): Metric => ({
        group,
        name,
      }));
    },
  });
}

/** The curves of a metric of the best trials (500 at most), thinned out so that peaks stay. As columns: half a million points are too many to be objects for long. */
export function useCurves(id: number, metric: Metric | undefined) {
  return useQuery({
    queryKey: ["experiment-parts", id, "curves", metric],
    enabled: metric !== undefined,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = queryOf({
        metricName: metric?.name,
        group: metric?.group,
        maxTrials: 500,
        maxDatapoints: 1000,
        asColumns: true,
      });
      const path = `/api/v1/experiments/${id}/metrics-stream/trials-sample?${query}`;
      const [sample] = await readLines<Message["TrialsSampleResponse"]>(path, signal);
      return toSeries(sample?.trials ?? []);
    },
    // What was there is compared by nothing: that would cost more than drawing it.
    structuralSharing: false,
  });
}

/** Where the search stands: rungs, best, front. */
export function useSearch(id: number) {
  return useQuery({
    queryKey: ["experiment-parts", id, "search"],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/v1/experiments/{experiment_id}/search", {
          params: { path: { experiment_id: id } },
          signal,
        }),
      ),
  });
}

/** The trial that a new experiment starts from. */
export function useOrigin(trialId: number | undefined) {
  return useQuery({
    queryKey: ["experiment-origin", trialId],
    enabled: trialId !== undefined,
    queryFn: async ({ signal }): Promise<Origin> => {
      const params = { path: { trial_id: trialId ?? 0 } };
      const { trial } = await dataOf(api.GET("/api/v1/trials/{trial_id}", { params, signal }));
      return {
        trialId: trialId ?? 0,
        hparams: trial?.hparams ?? {},
        length: trial?.totalBatchesProcessed ?? 0,
      };
    },
  });
}

export type Verb = "pause" | "activate" | "cancel" | "kill" | "archive" | "unarchive";

/** Does something to the experiment; its stream shows what became of it. */
export function useVerb(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (verb: Verb) =>
      api.POST(`/api/v1/experiments/{id}/${verb}`, { params: { path: { id } } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["experiment", id] }),
  });
}
