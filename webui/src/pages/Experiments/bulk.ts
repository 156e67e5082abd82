import { api, dataOf } from "@/api/client";
import type { Message } from "@/api/types";
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
  /** With those that the answer names it was not done. */
  send: (ids: readonly number[]) => Promise<Refusals>;
}

/** Why something was not done with a row, by its id; in the order in which they were refused. */
type Refusals = Map<number, unknown>;

/** One after the other, so that many do not crowd out others' calls. */
const eachBy = (send: (id: number) => Promise<unknown>) => async (ids: readonly number[]) => {
  const refused: Refusals = new Map();
  for (const id of ids) {
    try {
      await send(id);
    } catch (error) {
      refused.set(id, error);
    }
  }
  return refused;
};

type Verb = "pause" | "activate" | "cancel" | "kill" | "archive" | "unarchive";

const ofExperiments = (verb: Verb) =>
  eachBy((id) => api.POST(`/api/v1/experiments/{id}/${verb}`, { params: { path: { id } } }));

type RunVerb = "pause" | "resume" | "kill" | "archive" | "unarchive" | "delete";

/** In one call, of which the answer names each run. */
const refusedOf = (results: Message["RunActionResult"][] = []): Refusals =>
  new Map(results.flatMap(({ id = 0, error }) => (error ? [[id, new Error(error)]] : [])));

const ofRuns = (verb: RunVerb) => async (ids: readonly number[]) => {
  const call = api.POST(`/api/v1/runs/${verb}`, { body: { runIds: [...ids] } });
  return refusedOf((await dataOf(call)).results);
};

const CHECKPOINTS =
  "logs, metrics and checkpoints are lost. Those of which a version of a model holds a checkpoint are refused.";
const KILL_LOSS = "end at once, without a last checkpoint.";

/** What can be done with rows of a kind, but for moving them. */
export const ACTIONS: Record<Kind, Action[]> = {
  experiments: [
    { label: "Pause", done: "paused", send: ofExperiments("pause") },
    { label: "Activate", done: "activated", send: ofExperiments("activate") },
    {
      label: "Cancel",
      done: "canceled",
      loss: "Trials end after a last checkpoint, and what they have not done yet is not done.",
      send: ofExperiments("cancel"),
    },
    {
      label: "Kill",
      done: "killed",
      loss: `Trials ${KILL_LOSS}`,
      send: ofExperiments("kill"),
    },
    { label: "Archive", done: "archived", send: ofExperiments("archive") },
    { label: "Unarchive", done: "unarchived", send: ofExperiments("unarchive") },
    {
      label: "Delete",
      done: "deleted",
      loss: `Their trials, ${CHECKPOINTS}`,
      isEnd: true,
      send: eachBy((experiment_id) =>
        api.DELETE("/api/v1/experiments/{experiment_id}", { params: { path: { experiment_id } } }),
      ),
    },
  ],
  runs: [
    { label: "Pause", done: "paused", send: ofRuns("pause") },
    { label: "Resume", done: "resumed", send: ofRuns("resume") },
    { label: "Kill", done: "killed", loss: `They ${KILL_LOSS}`, send: ofRuns("kill") },
    { label: "Archive", done: "archived", send: ofRuns("archive") },
    { label: "Unarchive", done: "unarchived", send: ofRuns("unarchive") },
    {
      label: "Delete",
      done: "deleted",
      loss: `Their ${CHECKPOINTS}`,
      isEnd: true,
      send: ofRuns("delete"),
    },
  ],
};

/** Moves all of them to a project. */
export function moveTo(kind: Kind, project: number): Action {
  const send =
    kind === "runs"
      ? async (ids: readonly number[]) => {
          const body = { runIds: [...ids], destinationProjectId: project };
          return refusedOf((await dataOf(api.POST("/api/v1/runs/move", { body }))).results);
        }
      : eachBy((experiment_id) =>
          api.POST("/api/v1/experiments/{experiment_id}/move", {
            params: { path: { experiment_id } },
            body: { destinationProjectId: project },
          }),
        );
  return { label: "Move", done: "moved", send };
}

/** Does it with all of them, and tells with how many, and what was refused first. */
export async function doAll(ids: readonly number[], action: Action): Promise<Outcome> {
  let refused: Refusals;
  try {
    refused = await action.send(ids);
  } catch (error) {
    refused = new Map(ids.map((id) => [id, error]));
  }
  const done = ids.filter((id) => !refused.has(id));
  const words = `${done.length} ${action.done}`;
  if (refused.size === 0) return { done, words };
  const [error] = refused.values();
  const why = error instanceof Error ? error.message : String(error);
  return { done, words: `${words}; ${refused.size} refused: ${why}`, error };
}
