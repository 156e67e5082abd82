import { api, unwrap } from "@/api/client";
import type { Kind } from "./rows";

/** With which it was done, and why not with others. */
export interface Outcome {
  done: number[];
  words: string;
  error?: unknown;
}

/** Something that is done with many rows at once. */
export interface Action {
  label: string;
  /** In the past, for what is said after it. */
  done: string;
  /** What is lost by it: it is asked for before. */
  loss?: string;
  /** There are no such rows afterwards. */
  isEnd?: boolean;
  /** The project in which they lie afterwards. */
  destination?: number;
  /** With those that the answer names it was not done. */
  send: (targets: readonly Target[]) => Promise<Refusals>;
}

/** A row that something is done with, and the project that it lies in. */
export interface Target {
  id: number;
  project: number;
}

/** Why something was not done with a row, by its id; in the order in which they were refused. */
type Refusals = Map<number, unknown>;

interface Answer {
  results?: { id?: number; error?: string }[];
}

// The master takes no more in one call.
const MAX_PER_CALL = 1000;

/** One call after the other, of which each names what it did not do; all of one that fails were refused. */
async function sendInBatches(
  ids: readonly number[],
  call: (ids: number[]) => Promise<Answer>,
  refused: Refusals,
) {
  for (let i = 0; i < ids.length; i += MAX_PER_CALL) {
    const some = ids.slice(i, i + MAX_PER_CALL);
    try {
      for (const { id = 0, error } of (await call(some)).results ?? [])
        if (error) refused.set(id, new Error(error));
    } catch (error) {
      for (const id of some) refused.set(id, error);
    }
  }
}

/** The calls for experiments are of one project each. */
const forExperiments =
  (call: (project: number, ids: number[]) => Promise<Answer>) =>
  async (targets: readonly Target[]) => {
    const refused: Refusals = new Map();
    for (const project of new Set(targets.map((target) => target.project))) {
      const ids = targets.filter((target) => target.project === project).map(({ id }) => id);
      await sendInBatches(ids, (some) => call(project, some), refused);
    }
    return refused;
  };

const forRuns =
  (call: (ids: number[]) => Promise<Answer>) => async (targets: readonly Target[]) => {
    const refused: Refusals = new Map();
    await sendInBatches(
      targets.map(({ id }) => id),
      call,
      refused,
    );
    return refused;
  };

type Verb = "pause" | "activate" | "cancel" | "kill" | "archive" | "unarchive";

const experiments = (verb: Verb) =>
  forExperiments((project_id, experimentIds) =>
    unwrap(
      api.POST(`/api/v1/projects/{project_id}/experiments/${verb}`, {
        params: { path: { project_id } },
        body: { experimentIds },
      }),
    ),
  );

type RunVerb = "pause" | "resume" | "kill" | "archive" | "unarchive" | "delete";

const runs = (verb: RunVerb) =>
  forRuns((runIds) => unwrap(api.POST(`/api/v1/runs/${verb}`, { body: { runIds } })));

const CHECKPOINTS =
  "logs, metrics and checkpoints are deleted. Rows with a checkpoint in a registered model are skipped.";
const KILL_LOSS = "stop immediately, without a final checkpoint.";

/** What can be done with rows of a kind, but for moving them. */
export const ACTIONS: Record<Kind, Action[]> = {
  experiments: [
    { label: "Pause", done: "paused", send: experiments("pause") },
    { label: "Activate", done: "activated", send: experiments("activate") },
    {
      label: "Cancel",
      done: "canceled",
      loss: "Trials stop after a final checkpoint. Remaining work is dropped.",
      send: experiments("cancel"),
    },
    {
      label: "Kill",
      done: "killed",
      loss: `Trials ${KILL_LOSS}`,
      send: experiments("kill"),
    },
    { label: "Archive", done: "archived", send: experiments("archive") },
    { label: "Unarchive", done: "unarchived", send: experiments("unarchive") },
    {
      label: "Delete",
      done: "deleted",
      loss: `Their trials, ${CHECKPOINTS}`,
      isEnd: true,
      send: forExperiments((project_id, experimentIds) =>
        unwrap(
          api.DELETE("/api/v1/projects/{project_id}/experiments/delete", {
            params: { path: { project_id } },
            body: { experimentIds },
          }),
        ),
      ),
    },
  ],
  runs: [
    { label: "Pause", done: "paused", send: runs("pause") },
    { label: "Resume", done: "resumed", send: runs("resume") },
    { label: "Kill", done: "killed", loss: `They ${KILL_LOSS}`, send: runs("kill") },
    { label: "Archive", done: "archived", send: runs("archive") },
    { label: "Unarchive", done: "unarchived", send: runs("unarchive") },
    {
      label: "Delete",
      done: "deleted",
      loss: `Their ${CHECKPOINTS}`,
      isEnd: true,
      send: runs("delete"),
    },
  ],
};

/** Moves all of them to a project. */
export function moveTo(kind: Kind, destinationProjectId: number): Action {
  const send =
    kind === "runs"
      ? forRuns((runIds) =>
          unwrap(api.POST("/api/v1/runs/move", { body: { runIds, destinationProjectId } })),
        )
      : forExperiments((project_id, experimentIds) =>
          unwrap(
            api.POST("/api/v1/projects/{project_id}/experiments/move", {
              params: { path: { project_id } },
              body: { experimentIds, destinationProjectId },
            }),
          ),
        );
  return { label: "Move", done: "moved", destination: destinationProjectId, send };
}

/** Does it with all of them, and tells with how many, and what was refused first. */
export async function runAction(targets: readonly Target[], action: Action): Promise<Outcome> {
  const refused = await action.send(targets);
  const done = targets.map(({ id }) => id).filter((id) => !refused.has(id));
  const words = `${done.length} ${action.done}`;
  if (refused.size === 0) return { done, words };
  const [error] = refused.values();
  const why = error instanceof Error ? error.message : String(error);
  return { done, words: `${words}; ${refused.size} refused: ${why}`, error };
}
