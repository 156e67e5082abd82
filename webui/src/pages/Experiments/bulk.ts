import { api, unwrap } from "@/api/client";
import type { Verb } from "./applicable";
import type { Kind } from "./rows";

/** The result of an action. */
export interface Outcome {
  done: number[];
  words: string;
  error?: unknown;
}

/** An action on many rows. */
export interface Action {
  verb: Verb;
  label: string;
  /** The past participle for the result text. */
  done: string;
  /** What is lost; shown in the confirmation. */
  loss?: string;
  /** Whether the rows no longer exist afterwards. */
  isEnd?: boolean;
  /** The project of the rows afterwards. */
  destination?: number;
  /** Performs the action; returns the refused rows. */
  send: (targets: readonly Target[]) => Promise<Refusals>;
}

/** A row and its project. */
export interface Target {
  id: number;
  project: number;
}

/** Errors by row ID, in the order of refusal. */
type Refusals = Map<number, unknown>;

interface Answer {
  results?: { id?: number; error?: string }[];
}

// The master's limit per call.
const MAX_PER_CALL = 1000;

/** Sends calls one after the other and collects the refused rows; a failed call refuses all of its rows. */
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

/** Calls for experiments are per project. */
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

type ExperimentVerb = Exclude<Verb, "delete" | "move">;

const experiments = (verb: ExperimentVerb) =>
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

/** The actions by kind of row, except moving. */
export const ACTIONS: Record<Kind, Action[]> = {
  experiments: [
    { verb: "pause", label: "Pause", done: "paused", send: experiments("pause") },
    { verb: "activate", label: "Activate", done: "activated", send: experiments("activate") },
    {
      verb: "cancel",
      label: "Cancel",
      done: "canceled",
      loss: "Trials stop after a final checkpoint. Remaining work is dropped.",
      send: experiments("cancel"),
    },
    {
      verb: "kill",
      label: "Kill",
      done: "killed",
      loss: `Trials ${KILL_LOSS}`,
      send: experiments("kill"),
    },
    { verb: "archive", label: "Archive", done: "archived", send: experiments("archive") },
    { verb: "unarchive", label: "Unarchive", done: "unarchived", send: experiments("unarchive") },
    {
      verb: "delete",
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
    { verb: "pause", label: "Pause", done: "paused", send: runs("pause") },
    { verb: "activate", label: "Resume", done: "resumed", send: runs("resume") },
    { verb: "kill", label: "Kill", done: "killed", loss: `They ${KILL_LOSS}`, send: runs("kill") },
    { verb: "archive", label: "Archive", done: "archived", send: runs("archive") },
    { verb: "unarchive", label: "Unarchive", done: "unarchived", send: runs("unarchive") },
    {
      verb: "delete",
      label: "Delete",
      done: "deleted",
      loss: `Their ${CHECKPOINTS}`,
      isEnd: true,
      send: runs("delete"),
    },
  ],
};

/** The action that moves rows to a project. */
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
  return { verb: "move", label: "Move", done: "moved", destination: destinationProjectId, send };
}

/**
 * Performs an action and summarizes the result with the first error. `skipped` says how many other rows were selected
 * to which it does not apply, and why.
 */
export async function runAction(
  targets: readonly Target[],
  action: Action,
  skipped = "",
): Promise<Outcome> {
  const refused = await action.send(targets);
  const done = targets.map(({ id }) => id).filter((id) => !refused.has(id));
  const words = [`${done.length} ${action.done}`, skipped].filter(Boolean).join("; ");
  if (refused.size === 0) return { done, words };
  const [error] = refused.values();
  const why = error instanceof Error ? error.message : String(error);
  return { done, words: `${words}; ${refused.size} refused: ${why}`, error };
}
