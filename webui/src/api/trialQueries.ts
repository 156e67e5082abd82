import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import { readFirstMessage } from "./messages";
import { addNames, liveQuery } from "./liveQueries";
import type { Message } from "./types";

/** A metric by its group and name. */
export interface Metric {
  group: string;
  name: string;
}

// The page reuses what was prefetched for it.
const FRESH = 5000; // ms

export const trialQuery = (id: number) =>
  queryOptions({
    queryKey: ["trial", id],
    staleTime: FRESH,
    queryFn: async ({ signal }) => {
      const { trial } = await unwrap(
        api.GET("/api/v1/trials/{trial_id}", { params: { path: { trial_id: id } }, signal }),
      );
      return trial ?? {};
    },
  });

/** The names of an experiment's metrics, for its page and those of its trials. */
export const metricNamesQuery = (experimentId: number) =>
  queryOptions({
    ...liveQuery<Metric[]>(experimentId, {
      queryKey: ["metric-names", experimentId],
      add: addNames,
      read: async (signal) => {
        const path = `/api/v1/experiments/metrics-stream/metric-names?ids=${experimentId}`;
        const names = await readFirstMessage<Message["ExpMetricNamesResponse"]>(path, signal);
        return (names?.metricNames ?? []).map(({ group = "", name = "" }): Metric => ({
          group,
          name,
        }));
      },
    }),
    staleTime: FRESH,
  });

/**
 * Prefetches what a trial's page shows first; for metric tabs also the metric names. The page repeats failed
 * requests and shows their errors.
 */
export async function prefetchTrial(client: QueryClient, id: number, tab = ""): Promise<void> {
  try {
    const { experimentId } = await client.query(trialQuery(id));
    const hasMetrics = tab === "" || tab === "system";
    if (experimentId && hasMetrics) await client.query(metricNamesQuery(experimentId));
  } catch {
    // The page shows the error.
  }
}
