import type { Job, Message } from "@/api/types";

/** A change of the queue, as in the API. */
export type Move = Message["QueueControl"];

/** Whether the pool's policy has an order that users can change. */
export const hasOrder = (pool: Message["ResourcePool"] | undefined) =>
  pool?.schedulerType === "SCHEDULER_TYPE_PRIORITY" || pool?.policy === "fifo";

/** Jobs can only be reordered within a pool and a priority. */
export const arePeers = (a: Job, b: Job) =>
  a.resourcePool === b.resourcePool && a.priority === b.priority;

/** The move to the position of another job; undefined if that is not possible. */
export function moveTo(jobs: readonly Job[], id: string, targetId: string): Move | undefined {
  const from = jobs.findIndex((job) => job.jobId === id);
  const to = jobs.findIndex((job) => job.jobId === targetId);
  const job = jobs[from];
  const target = jobs[to];
  if (!job || !target || from === to || !arePeers(job, target)) return undefined;
  return from < to ? { jobId: id, behindOf: targetId } : { jobId: id, aheadOf: targetId };
}

/** The move by one position up (-1) or down (1); undefined at an end. */
export function moveBy(jobs: readonly Job[], id: string, by: -1 | 1): Move | undefined {
  const job = jobs.find((each) => each.jobId === id);
  const peers = job ? jobs.filter((each) => arePeers(each, job)) : [];
  const target = peers[peers.findIndex((each) => each.jobId === id) + by];
  return target && moveTo(jobs, id, target.jobId ?? "");
}
