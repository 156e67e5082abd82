import { useEffect, useRef } from "react";
import {
  keepPreviousData,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { useOverview } from "@/api/useOverview";
import type { Move } from "./order";

const load = { staleTime: Infinity, placeholderData: keepPreviousData };

/** All agents with their slots; refetched when the cluster's load changes. */
export function useAgents() {
  const overview = useOverview();
  const { pools, running } = overview ?? {};
  return useQuery({
    // A changed load is a new key: the stream triggers the refetch, nothing is polled.
    queryKey: [
      "cluster",
      "agents",
      pools,
      running?.map(({ id, state }) => `${id ?? ""}${state ?? ""}`),
    ],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/agents", { signal })),
    enabled: overview !== undefined,
    gcTime: 0,
    ...load,
  });
}

/** The number of jobs per pool that are read at first and added at a time. */
export const PORTION = 100;

/**
 * The first jobs of each pool's queue in serving order. Jobs stay visible while they are refetched after a
 * change of the load.
 *
 * @param limit the number of jobs per pool.
 */
export function useQueues(limit: number) {
  const client = useQueryClient();
  const overview = useOverview();
  const names = overview?.pools?.map(({ name = "" }) => name) ?? [];
  const { pools, jobsRunning, jobsWaiting } = overview ?? {};
  // One stable query key per pool: a new key would show no rows until it is loaded.
  const state = JSON.stringify([pools, jobsRunning, jobsWaiting, limit]);
  const queues = useQueries({
    queries: names.map((resourcePool) => ({
      queryKey: ["cluster", "queue", resourcePool],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        unwrap(
          api.GET("/api/v1/job-queues", { params: { query: { resourcePool, limit } }, signal }),
        ),
      staleTime: Infinity,
      refetchOnMount: "always" as const,
    })),
    combine: (results) => ({
      jobs: results.flatMap(({ data }) => data?.jobs ?? []),
      total: results.reduce((sum, { data }) => sum + (data?.pagination?.total ?? 0), 0),
      loading: names.length === 0 || results.some(({ isPending }) => isPending),
      error: results.find(({ isError }) => isError)?.error ?? null,
    }),
  });
  // After the queries, which then use the new limit.
  const read = useRef(state);
  useEffect(() => {
    if (read.current === state) return;
    read.current = state;
    void client.invalidateQueries({ queryKey: ["cluster", "queue"] });
  }, [client, state]);
  return queues;
}

/** Why a job waits and its estimated start; refetched when the load changes. */
export function useExplanation(jobId: string) {
  const { pools, jobsRunning, jobsWaiting } = useOverview() ?? {};
  return useQuery({
    queryKey: ["cluster", "explain", jobId, pools, jobsRunning, jobsWaiting],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/job-queues/{job_id}/explain", {
          params: { path: { job_id: jobId } },
          signal,
        }),
      ),
    gcTime: 0,
    ...load,
  });
}

/** Moves a job in its queue, which may also change why others wait. */
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

/** Drains, disables or enables an agent or one of its slots. */
export function useAgentAction(agentId: string, slotId?: string) {
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
