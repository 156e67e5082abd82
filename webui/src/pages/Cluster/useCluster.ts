import {
  keepPreviousData,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import { useOverview } from "@/api/useOverview";
import type { Move } from "./order";

const load = { staleTime: Infinity, placeholderData: keepPreviousData };

/** All agents with their slots, asked for anew when the cluster's load has changed. */
export function useAgents() {
  const overview = useOverview();
  const { pools, running } = overview ?? {};
  return useQuery({
    // A change of the load is a new key: the stream says when, nothing is polled.
    queryKey: [
      "cluster",
      "agents",
      pools,
      running?.map(({ id, state }) => `${id ?? ""}${state ?? ""}`),
    ],
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

/** Why a job waits, and when it may start; asked anew when the load has changed. */
export function useExplanation(jobId: string) {
  const { pools, jobsRunning, jobsWaiting } = useOverview() ?? {};
  return useQuery({
    queryKey: ["cluster", "explain", jobId, pools, jobsRunning, jobsWaiting],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET("/api/v1/job-queues/{job_id}/explain", {
          params: { path: { job_id: jobId } },
          signal,
        }),
      ),
    gcTime: 0,
    ...load,
  });
}

/** Moves a job in its queue. Why those that wait do so may then have changed, too. */
export function useMove() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (move: Move) => api.POST("/api/v1/job-queues", { body: { updates: [move] } }),
    onSettled: () =>
      Promise.all(
        ["queue", "explain"].map((part) =>
          client.invalidateQueries({ queryKey: ["cluster", part] }),
        ),
      ),
  });
}

/** Takes an agent, or one of its slots, out of use or back: drained ones let end what runs. */
export function useTakeOut(agentId: string, slotId?: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (verb: "enable" | "disable" | "drain") => {
      const agent = { path: { agent_id: agentId } };
      const slot = { path: { agent_id: agentId, slot_id: slotId ?? "" } };
      const body = { drain: verb === "drain" };
      const isSlot = slotId !== undefined;
      if (verb !== "enable") {
        if (isSlot)
          await api.POST("/api/v1/agents/{agent_id}/slots/{slot_id}/disable", {
            params: slot,
            body,
          });
        else await api.POST("/api/v1/agents/{agent_id}/disable", { params: agent, body });
      } else if (isSlot)
        await api.POST("/api/v1/agents/{agent_id}/slots/{slot_id}/enable", { params: slot });
      else await api.POST("/api/v1/agents/{agent_id}/enable", { params: agent });
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["cluster", "agents"] }),
  });
}
