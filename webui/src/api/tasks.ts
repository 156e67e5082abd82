import { api, unwrap } from "./client";
import type { Job, Message } from "./types";

/** The kinds of tasks that a user launches with a configuration. */
export const LAUNCHED = ["notebook", "shell", "command", "tensorboard"] as const;
export type LaunchedKind = (typeof LAUNCHED)[number];

/** The kinds of tasks that are not trials. */
export type TaskKind = LaunchedKind | "generic";

/** The kinds as users read them. */
export const KIND_NAMES: Record<TaskKind, string> = {
  notebook: "Notebook",
  shell: "Shell",
  command: "Command",
  tensorboard: "TensorBoard",
  generic: "Generic task",
};

/** A kind inside a sentence: "notebook". */
export const getKindNoun = (kind: TaskKind): string =>
  kind === "tensorboard" ? "TensorBoard" : KIND_NAMES[kind].toLowerCase();

/** A task that is not a trial. */
export interface Task {
  id: string;
  kind: TaskKind;
  name: string;
  /** As in the API, but STATE_ERROR if it failed. */
  state: string;
  /** Why it waits, or how it failed; empty if nothing needs a reason. */
  reason: string;
  username: string;
  userId: number;
  workspaceId: number;
  resourcePool: string;
  /** The slots that it holds or waits for; undefined if unknown. */
  slots?: number;
  /** When it was created. */
  startTime?: string;
  /** Where its service is served below the master's address; empty if it has none. */
  serviceAddress: string;
  /** What a TensorBoard shows. */
  experimentIds: readonly number[];
  trialIds: readonly number[];
}

/** What the master sends of a task; all kinds have the fields of a command. */
type TaskMessage = Message["Command"] &
  Partial<Pick<Message["Tensorboard"], "serviceAddress" | "experimentIds" | "trialIds">>;

const SUCCESS = "allocation exited successfully";

/** Whether a task in this state has ended. */
export const hasEnded = (state: string): boolean =>
  /^(GENERIC_TASK_)?STATE_(TERMINATED|ERROR|COMPLETED|CANCELED)$/.test(state);

export function toTask(kind: LaunchedKind, message: TaskMessage): Task {
  const { state = "STATE_UNSPECIFIED", exitStatus = "", container } = message;
  const isFailed = state === "STATE_TERMINATED" && exitStatus !== "" && exitStatus !== SUCCESS;
  return {
    id: message.id ?? "",
    kind,
    name: message.description ?? "",
    state: isFailed ? "STATE_ERROR" : state,
    reason: isFailed ? exitStatus : "",
    username: message.username ?? "",
    userId: message.userId ?? 0,
    workspaceId: message.workspaceId ?? 0,
    resourcePool: message.resourcePool ?? "",
    ...(container && { slots: container.devices?.length ?? 0 }),
    ...(message.startTime && { startTime: message.startTime }),
    serviceAddress: message.serviceAddress ?? "",
    experimentIds: message.experimentIds ?? [],
    trialIds: message.trialIds ?? [],
  };
}

/** A generic task as the queue describes it. */
export function toGenericTask(job: Job): Task {
  const waits = job.summary?.state === "STATE_QUEUED";
  return {
    id: job.entityId ?? "",
    kind: "generic",
    name: job.name ?? "",
    state: waits ? "STATE_QUEUED" : "STATE_RUNNING",
    reason: "",
    username: job.username ?? "",
    userId: job.userId ?? 0,
    workspaceId: job.workspaceId ?? 0,
    resourcePool: job.resourcePool ?? "",
    slots: job.requestedSlots ?? 0,
    ...(job.submissionTime && { startTime: job.submissionTime }),
    serviceAddress: "",
    experimentIds: [],
    trialIds: [],
  };
}

/** Adds what only the queue knows of a task that holds or awaits slots. */
export function addJob(task: Task, job: Job | undefined): Task {
  if (!job || hasEnded(task.state)) return task;
  return { ...task, slots: job.requestedSlots ?? task.slots ?? 0, reason: job.reason ?? "" };
}

/** All tasks of a kind that live or ended in the last 24 hours. */
export async function readTasks(kind: LaunchedKind, signal?: AbortSignal): Promise<Task[]> {
  const answer: { [list: string]: unknown } = await unwrap(
    api.GET(`/api/v1/${kind}s`, { ...(signal && { signal }) }),
  );
  const list = (answer[`${kind}s`] ?? []) as TaskMessage[];
  return list.map((message) => toTask(kind, message));
}

/** A task with its complete configuration. */
export interface TaskWithConfig {
  task: Task;
  config: object;
}

type TaskAnswer = Partial<Record<LaunchedKind, TaskMessage>> & { config?: object };

export async function readTask(
  kind: LaunchedKind,
  id: string,
  signal: AbortSignal,
): Promise<TaskWithConfig> {
  const answer: TaskAnswer = await unwrap(
    api.GET(`/api/v1/${kind}s/{id}`, { params: { path: { id } }, signal }),
  );
  return { task: toTask(kind, answer[kind] ?? {}), config: answer.config ?? {} };
}

/** Kills a task; one that has ended stays as it is. */
export async function killTask(kind: TaskKind, id: string): Promise<void> {
  if (kind === "generic")
    await api.POST("/api/v1/tasks/{task_id}/kill", { params: { path: { task_id: id } } });
  else await api.POST(`/api/v1/${kind}s/{id}/kill`, { params: { path: { id } } });
}

export type LaunchRequest = Message["LaunchCommandRequest"];

/** The answer to a launch. */
export interface Launched {
  /** Without an ID if it was a preview. */
  task: Task;
  /** The complete configuration. */
  config: object;
  warnings: readonly Message["LaunchWarning"][];
}

/**
 * Launches a task.
 *
 * @param key identifies the launch: a repeated one with the same key launches nothing more.
 */
export async function launchTask(
  kind: LaunchedKind,
  body: LaunchRequest,
  { key, signal }: { key?: string; signal?: AbortSignal } = {},
): Promise<Launched> {
  const answer: TaskAnswer & { warnings?: Message["LaunchWarning"][] } = await unwrap(
    api.POST(`/api/v1/${kind}s`, {
      body,
      ...(key && { headers: { "Idempotency-Key": key } }),
      ...(signal && { signal }),
    }),
  );
  return {
    task: toTask(kind, answer[kind] ?? {}),
    config: answer.config ?? {},
    warnings: answer.warnings ?? [],
  };
}

/** What a TensorBoard shows. */
export interface TensorboardSource {
  experimentIds?: readonly number[];
  trialIds?: readonly number[];
}

const toKey = ({ experimentIds = [], trialIds = [] }: TensorboardSource) =>
  JSON.stringify([experimentIds, trialIds].map((ids) => [...ids].sort((a, b) => a - b)));

/** The ID of a TensorBoard of this source: of one that has not ended, or of a new one. */
export async function openTensorboard(
  source: TensorboardSource & { workspaceId?: number | undefined },
): Promise<string> {
  const known = await readTasks("tensorboard");
  const same = known.find(
    (task) =>
      !hasEnded(task.state) && task.state !== "STATE_TERMINATING" && toKey(task) === toKey(source),
  );
  if (same) return same.id;
  const { task } = await launchTask("tensorboard", {
    experimentIds: [...(source.experimentIds ?? [])],
    trialIds: [...(source.trialIds ?? [])],
    ...(source.workspaceId && { workspaceId: source.workspaceId }),
  });
  return task.id;
}
