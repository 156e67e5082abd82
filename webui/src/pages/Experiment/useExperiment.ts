import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { readFirstMessage, buildQuery } from "@/api/messages";
import type { Message } from "@/api/types";
import { liveQuery } from "@/api/liveQueries";
import { addToTrials, type TrialPoints } from "@/api/trialPoints";
import { metricNamesQuery, type Metric } from "@/api/trialQueries";
import { useExperimentStream } from "@/api/useExperimentStream";
import { useRefresh } from "@/api/useRefresh";
import type { Series } from "@/charts/series";
import { isTerminal } from "@/api/states";
import { addToCurves, MAX_CURVES, MAX_POINTS, toSeries } from "./curves";
import type { Origin } from "./initialConfig";

type Experiment = Message["Experiment"];

/** An experiment with its configuration, updated by the page's stream. */
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
  // Everything but curves is refetched now and then: many pages may be open.
  const refreshParts = useRefresh({ queryKey: ["experiment-parts", id] }, 4000);
  const own = { queryKey: ["experiment", id], exact: true };
  const refresh = useRefresh(own, 1000);
  const { live } = useExperimentStream(id, undefined, ({ experiment }) => {
    if (!experiment) return true;
    const known = client.getQueryData<typeof read.data>(own.queryKey)?.experiment;
    // An experiment that had ended when it was read does not change.
    const isNews =
      !isTerminal(experiment.state) ||
      (known !== undefined && !isTerminal(known.state)) ||
      hasJustEnded(experiment);
    // Keep one copy in the cache: a second one would hide later reads, such as saved notes.
    client.setQueryData<typeof read.data>(own.queryKey, (old) => old && { ...old, experiment });
    // A read in progress may return data older than this message.
    if (client.isFetching(own) > 0) refresh();
    if (isNews) refreshParts();
    return isNews;
  });
  const experiment: Experiment | undefined = read.data?.experiment;
  return { experiment, error: read.error, refetch: read.refetch, isLive: live };
}

/** Whether it may still have been running when the page read it. */
const hasJustEnded = ({ endTime }: Experiment) => Date.now() - Date.parse(endTime ?? "") < 60_000;

/** The metrics that the experiment's trials report. */
export const useMetricNames = (id: number) => useQuery(metricNamesQuery(id));

/**
 * The curves of the best trials (at most MAX_CURVES), downsampled with peaks kept. Column format, because
 * half a million points as objects would need too much memory.
 */
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
        const sample = await readFirstMessage<Message["TrialsSampleResponse"]>(path, signal);
        return toSeries(sample?.trials ?? []);
      },
    }),
    enabled: isEnabled && metric !== undefined,
    placeholderData: keepPreviousData,
    // Structural sharing would cost more than drawing.
    structuralSharing: false,
  });
}

// The number of points per read for axes other than batches, which have no column format.
const ALL_POINTS = 100_000;

/** Curves with time and epoch of each point; the more trials, the fewer points each. */
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
        const sample = await readFirstMessage<Message["TrialsSampleResponse"]>(path, signal);
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

/** The state of the search: rungs, best trial, Pareto front. */
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

/** The log policies that matched in logs of the experiment's trials. */
export function useLogPolicies({ id = 0, unmanaged }: Experiment) {
  return useQuery({
    queryKey: ["experiment-parts", id, "log-policies"],
    enabled: !unmanaged,
    queryFn: async ({ signal }) => {
      const children = [
        { kind: "field", columnName: "experimentId", operator: "=", value: id },
        { kind: "field", columnName: "logPolicyMatched", operator: "notEmpty", value: null },
      ];
      const filter = JSON.stringify({
        showArchived: true,
        filterGroup: { kind: "group", conjunction: "and", children },
      });
      const body = { filter, limit: 100 };
      const { runs = [] } = await unwrap(api.POST("/api/v1/runs", { body, signal }));
      return [...new Set(runs.flatMap((run) => run.logPolicyMatched ?? []))].sort();
    },
  });
}

/**
 * When the experiment's first trial began to run; null before. Undefined while unknown, and for an unmanaged
 * experiment.
 */
export function useFirstRun({ id = 0, trialIds = [], unmanaged }: Experiment) {
  const first = trialIds.length > 0 ? Math.min(...trialIds) : undefined;
  const { data } = useQuery({
    queryKey: ["experiment-parts", id, "first-run", first ?? null],
    enabled: !unmanaged,
    queryFn: async ({ signal }): Promise<string | null> => {
      if (first === undefined) return null;
      const params = { path: { trial_id: first } };
      const { trial } = await unwrap(api.GET("/api/v1/trials/{trial_id}", { params, signal }));
      return trial?.runs?.[0]?.startTime ?? null;
    },
  });
  return data;
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

/** Performs an action on the experiment; its stream shows the result. */
export function useExperimentAction(id: number) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (verb: Verb) =>
      api.POST(`/api/v1/experiments/{id}/${verb}`, { params: { path: { id } } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["experiment", id] }),
  });
}
