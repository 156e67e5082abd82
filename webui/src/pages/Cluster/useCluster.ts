import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import { useOverview } from "@/api/useOverview";

const load = { staleTime: Infinity, placeholderData: keepPreviousData };

/** All agents with their slots, asked for anew when the cluster's load has changed. */
export function useAgents() {
  const overview = useOverview();
  return useQuery({
    // A change of the load is a new key: the stream says when, nothing is polled.
    queryKey: ["cluster", "agents", overview?.pools],
    queryFn: ({ signal }) => dataOf(api.GET("/api/v1/agents", { signal })),
    enabled: overview !== undefined,
    gcTime: 0,
    ...load,
  });
}

/** The queue of each pool, in the order in which it is served; as useAgents. */
export function useQueues() {
  const overview = useOverview();
  const names = overview?.pools?.map(({ name = "" }) => name) ?? [];
  const { pools, jobsRunning, jobsWaiting } = overview ?? {};
  return useQueries({
    queries: names.map((resourcePool) => ({
      queryKey: ["cluster", "queue", resourcePool, pools, jobsRunning, jobsWaiting],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        dataOf(
          api.GET("/api/v1/job-queues", {
            params: { query: { resourcePool, limit: 100 } },
            signal,
          }),
        ),
      gcTime: 0,
      ...load,
    })),
    combine: (results) => ({
      jobs: results.flatMap(({ data }) => data?.jobs ?? []),
      loading: names.length === 0 || results.some(({ isPending }) => isPending),
      error: results.find(({ isError }) => isError)?.error ?? null,
    }),
  });
}
