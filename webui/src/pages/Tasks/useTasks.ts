import { useEffect } from "react";
import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { addJob, LAUNCHED, readTasks, toGenericTask, type Task } from "@/api/tasks";
import type { Job } from "@/api/types";
import { useOverview } from "@/api/useOverview";
import { useRefresh } from "@/api/useRefresh";

/** The prefix of the query keys of tasks. */
export const TASKS_KEY = ["tasks"] as const;

// Tasks have no stream. The lists are also read again when the cluster's load changes.
const INTERVAL = 5000; // ms
const AFTER_CHANGE = 500; // ms

// Jobs of a pool's queue that are read: enough to see why its tasks wait.
const MAX_JOBS = 1000;

/** All tasks that are not trials, and live or ended in the last 24 hours; undefined until they are read. */
export function useTasks() {
  const client = useQueryClient();
  const pools = useQuery({
    queryKey: ["resource-pools"],
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      (await unwrap(api.GET("/api/v1/resource-pools", { signal }))).resourcePools ?? [],
  });
  const lists = useQueries({
    queries: LAUNCHED.map((kind) => ({
      queryKey: [...TASKS_KEY, kind],
      queryFn: ({ signal }: { signal: AbortSignal }) => readTasks(kind, signal),
      refetchInterval: INTERVAL,
    })),
    combine: (results) => ({
      tasks: results.flatMap(({ data }) => data ?? []),
      isLoading: results.some(({ isPending }) => isPending),
      error: results.find(({ error }) => error)?.error ?? null,
    }),
  });
  const queues = useQueries({
    queries: (pools.data ?? []).map(({ name: resourcePool = "" }) => ({
      queryKey: [...TASKS_KEY, "queue", resourcePool],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const params = { query: { resourcePool, limit: MAX_JOBS } };
        return (await unwrap(api.GET("/api/v1/job-queues", { params, signal }))).jobs ?? [];
      },
      refetchInterval: INTERVAL,
    })),
    combine: (results) => results.flatMap(({ data }) => data ?? []),
  });
  const overview = useOverview();
  const refresh = useRefresh({ queryKey: TASKS_KEY }, AFTER_CHANGE);
  useEffect(() => {
    if (overview) refresh();
  }, [overview, refresh]);
  const isLoading = lists.isLoading && !lists.error;
  return {
    tasks: isLoading ? undefined : joinJobs(lists.tasks, queues),
    error: lists.error,
    refetch: () => void client.invalidateQueries({ queryKey: TASKS_KEY }),
  };
}

/** Adds the jobs of the queues to the tasks, and the generic tasks among them. */
function joinJobs(tasks: readonly Task[], jobs: readonly Job[]): Task[] {
  const byTask = new Map(jobs.map((job) => [job.entityId, job]));
  const generic = jobs.filter(({ type }) => type === "TYPE_GENERIC").map(toGenericTask);
  return [...tasks, ...generic].map((task) => addJob(task, byTask.get(task.id)));
}
