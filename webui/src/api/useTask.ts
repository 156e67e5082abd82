import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import { hasEnded, readTask, type Task, type TaskKind } from "./tasks";
import type { Message } from "./types";

type Info = Message["Task"];

/** Why a queued task waits, and its estimated start. */
export type Waiting = Message["ExplainJobResponse.Waiting"];

/** A task with what only its own page shows. */
export interface TaskDetails {
  task: Task;
  config: object;
  /** Whether its service answers. */
  isReady: boolean;
  endTime?: string | undefined;
  waiting?: Waiting | undefined;
  /** Whether a generic task may be paused. */
  canPause: boolean;
}

const KINDS: Partial<Record<Message["Task.Type"], TaskKind>> = {
  TASK_TYPE_NOTEBOOK: "notebook",
  TASK_TYPE_SHELL: "shell",
  TASK_TYPE_COMMAND: "command",
  TASK_TYPE_TENSORBOARD: "tensorboard",
  TASK_TYPE_GENERIC: "generic",
};

/** Undefined if the task is not in the queue: it has started or ended. */
async function readJob(id: string, signal: AbortSignal) {
  try {
    const params = { path: { job_id: id } };
    return await unwrap(api.GET("/api/v1/job-queues/{job_id}/explain", { params, signal }));
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

async function readGeneric(id: string, info: Info, signal: AbortSignal) {
  const path = { task_id: id };
  const state: string = info.taskState ?? "STATE_UNSPECIFIED";
  const { config = "" } = await unwrap(
    api.GET("/api/v1/tasks/{task_id}/config", { params: { path }, signal }),
  );
  const { job = {} } = hasEnded(state) ? {} : ((await readJob(id, signal)) ?? {});
  const waits = job.summary?.state === "STATE_QUEUED";
  const task: Task = {
    id,
    kind: "generic",
    name: job.name || `Generic task ${id}`,
    state: waits && state.endsWith("STATE_ACTIVE") ? "STATE_QUEUED" : state,
    reason: "",
    username: job.username ?? "",
    userId: job.userId ?? 0,
    workspaceId: job.workspaceId ?? 0,
    resourcePool: job.resourcePool ?? "",
    ...(job.requestedSlots !== undefined && { slots: job.requestedSlots }),
    ...(info.startTime && { startTime: info.startTime }),
    serviceAddress: "",
    experimentIds: [],
    trialIds: [],
  };
  return { task, config: config ? (JSON.parse(config) as object) : {} };
}

async function readDetails(id: string, signal: AbortSignal): Promise<TaskDetails> {
  const params = { path: { task_id: id } };
  const { task: info = {} } = await unwrap(api.GET("/api/v1/tasks/{task_id}", { params, signal }));
  const kind = KINDS[info.taskType ?? "TASK_TYPE_UNSPECIFIED"];
  if (!kind)
    throw new Error(`${id} is not a notebook, shell, command, TensorBoard or generic task`);
  const { task, config } =
    kind === "generic" ? await readGeneric(id, info, signal) : await readTask(kind, id, signal);
  const job = task.state === "STATE_QUEUED" ? await readJob(id, signal) : undefined;
  const waiting = job?.waiting?.[0];
  return {
    task: {
      ...task,
      ...(job && { slots: job.job?.requestedSlots ?? 0 }),
      reason: waiting?.reason ?? job?.job?.reason ?? task.reason,
    },
    config,
    isReady: info.allocations?.some(({ isReady }) => isReady) ?? false,
    endTime: info.endTime,
    waiting,
    canPause: kind === "generic" && !info.noPause,
  };
}

/**
 * A task, read again every `interval` ms until it has ended: tasks have no stream. Nothing is read while the page
 * is hidden.
 */
export function useTask(id: string, interval: number) {
  return useQuery({
    queryKey: ["tasks", "details", id],
    queryFn: ({ signal }) => readDetails(id, signal),
    refetchInterval: ({ state }) =>
      state.data && hasEnded(state.data.task.state) ? false : interval,
  });
}
