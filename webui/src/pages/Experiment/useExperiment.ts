import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { readMessages, buildQuery } from "@/api/messages";
import type { Message } from "@/api/types";
import { liveQuery } from "@/api/liveQueries";
import { addToTrials, type TrialPoints } from "@/api/trialPoints";
import { metricNamesQuery, type Metric } from "@/api/trialQueries";
import { useExperimentStream } from "@/api/useExperimentStream";
import { useRefresh } from "@/api/useRefresh";
import type { Series } from "@/charts/series";
import { isTerminal } from "@/api/states";
import { addToCurves, MAX_CURVES, MAX_POINTS, toSeries } from "./curves";
import type { Origin } from "./propose";

type Experiment = Message["Experiment"];

/** An experiment with its configuration, kept up to date by the page's one stream. */
export function useExperiment(id: number) {
  const client = useQueryClient();
  const read = useQuery({
    queryKey: ["experiment", id],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/experiments/{experiment_id}", {
          params: { path: { experiment_id: id } },
          signal,
        }),
      ),
  });
  // What is no curve is read again now and then: many pages may be open.
  const refreshParts = useRefresh({ queryKey: ["experiment-parts", id] }, 4000);
  const own = { queryKey: ["experiment", id], exact: true };
  const refresh = useRefresh(own, 1000);
  const { live } = useExperimentStream(id, undefined, ({ experiment }) => {
    if (!experiment) return true;
    const known = client.getQueryData<typeof read.data>(own.queryKey)?.experiment;
    // What had ended when it was read brings no news.
    const isNews =
      !isTerminal(experiment.state) ||
      (known !== undefined && !isTerminal(known.state)) ||
      hasJustEnded(experiment);
    // One copy alone: a second one would hide what is read after it, as the notes that were saved.
    client.setQueryData<typeof read.data>(own.queryKey, (old) => old && { ...old, experiment });
    // A read that is under way may bring what was before this message.
    if (client.isFetching(own) > 0) refresh();
    if (isNews) refreshParts();
    return isNews;
  });
  const experiment: Experiment | undefined = read.data?.experiment;
  return { experiment, error: read.error, refetch: read.refetch, isLive: live };
}

/** Whether it may have run still when the page read of it. */
const hasJustEnded = ({ endTime }: Experiment) => Date.now() - Date.parse(endTime ?? "") < 60_000;

/** The metrics that the experiment's trials report. */
export const useMetricNames = (id: number) => useQuery(metricNamesQuery(id));

/** The curves of a metric of the best trials (MAX_CURVES at max), downsample out so that peaks stay. As columns: half a million points are too many to be objects for long. */
export function useCurves(id: number, metric: Metric | undefined, isEnabled: boolean) {
  return useQuery({
    ...liveQuery<Series[]>(id, {
      queryKey: ["experiment-live", id, "curves", metric],
      add: (series, points) => (metric ? addToCurves(series, points, metric) : series),
      read: async (signal) => {
        const query = buildQuery({
          metricName: metric?.name,
          group: metric?.group,
          maxTrials: MAX_CURVES,
          maxDatapoints: MAX_POINTS,
          asColumns: true,
        });
        const path = `/api/v1/experiments/${id}/metrics-stream/trials-sample?${query}`;
        const [sample] = await readMessages<Message["TrialsSampleResponse"]>(path, signal);
        return toSeries(sample?.trials ?? []);
      },
    }),
    enabled: isEnabled && metric !== undefined,
    placeholderData: keepPreviousData,
    // What was there is compared by nothing: that would cost more than drawing it.
    structuralSharing: false,
  });
}

// As many points as are read at once, over any x but batches: they come one by one, and not as columns.
const ALL_POINTS = 100_000;

/** The same with time and epoch of each point: the fewer the more trials there are. */
export function useTimedCurves(
  experiment: Experiment,
  metric: Metric | undefined,
  isEnabled: boolean,
) {
  const id = experiment.id ?? 0;
  const trials = Math.min(MAX_CURVES, Math.max(1, experiment.numTrials ?? 1));
  const max = Math.min(MAX_POINTS, Math.floor(ALL_POINTS / trials));
  return useQuery({
    ...liveQuery<TrialPoints[]>(id, {
      queryKey: ["experiment-live", id, "timed-curves", metric],
      add: (known, points) =>
        metric ? addToTrials(known, points, metric, max, (_, count) => count < MAX_CURVES) : known,
      read: async (signal) => {
        const query = buildQuery({
          metricName: metric?.name,
          group: metric?.group,
          maxTrials: MAX_CURVES,
          maxDatapoints: max,
        });
        const path = `/api/v1/experiments/${id}/metrics-stream/trials-sample?${query}`;
        const [sample] = await readMessages<Message["TrialsSampleResponse"]>(path, signal);
        return (sample?.trials ?? []).map(({ trialId = 0, data = [] }) => ({
          trialId,
          points: data,
        }));
      },
    }),
    enabled: isEnabled && metric !== undefined,
    placeholderData: keepPreviousData,
    structuralSharing: false,
  });
}

/** Where the search stands: rungs, best, front. */
export function useSearch(id: number) {
  return useQuery({
    queryKey: ["experiment-parts", id, "search"],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/experiments/{experiment_id}/search", {
          params: { path: { experiment_id: id } },
          signal,
        }),
      ),
  });
}

/** The trial that a new experiment starts from. */
export function useOriginTrial(trialId: number | undefined) {
  return useQuery({
    queryKey: ["experiment-origin", trialId],
    enabled: trialId !== undefined,
    queryFn: async ({ signal }): Promise<Origin> => {
      const params = { path: { trial_id: trialId ?? 0 } };
      const { trial } = await unwrap(api.GET("/api/v1/trials/{trial_id}", { params, signal }));
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
export function useExperimentAction(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (verb: Verb) =>
      api.POST(`/api/v1/experiments/{id}/${verb}`, { params: { path: { id } } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["experiment", id] }),
  });
}
