import type { Message } from "@/api/types";

export const NOTEBOOK_ID = "5bd1a1b6-9d22-4b6b-a0e4-7e2f3c1d0a01";
export const SHELL_ID = "5bd1a1b6-9d22-4b6b-a0e4-7e2f3c1d0a02";
export const COMMAND_ID = "5bd1a1b6-9d22-4b6b-a0e4-7e2f3c1d0a03";
export const TENSORBOARD_ID = "5bd1a1b6-9d22-4b6b-a0e4-7e2f3c1d0a04";
export const GENERIC_ID = "5bd1a1b6-9d22-4b6b-a0e4-7e2f3c1d0a05";

const common = {
  username: "ann",
  displayName: "",
  userId: 1,
  resourcePool: "default",
  workspaceId: 7,
  exitStatus: "",
};

/** A queued notebook. */
export const notebook: Message["Notebook"] = {
  ...common,
  id: NOTEBOOK_ID,
  description: "explore",
  state: "STATE_QUEUED",
  startTime: "2026-11-27T09:00:00Z",
  jobId: NOTEBOOK_ID,
  serviceAddress: `/proxy/${NOTEBOOK_ID}/?token=secret`,
};

/** A running shell with two slots. */
export const shell: Message["Shell"] = {
  ...common,
  id: SHELL_ID,
  description: "debug",
  state: "STATE_RUNNING",
  startTime: "2026-11-27T09:01:00Z",
  jobId: SHELL_ID,
  container: { id: `${SHELL_ID}.1`, parent: SHELL_ID, state: "STATE_RUNNING", devices: [{}, {}] },
};

/** A command of another user that failed. */
export const command: Message["Command"] = {
  ...common,
  id: COMMAND_ID,
  description: "prepare",
  username: "bob",
  userId: 2,
  state: "STATE_TERMINATED",
  startTime: "2026-11-27T09:02:00Z",
  jobId: COMMAND_ID,
  exitStatus: "resources failed with non-zero exit code: it failed (exit code 3)",
};

/** A running TensorBoard of experiment 42. */
export const tensorboard: Message["Tensorboard"] = {
  ...common,
  id: TENSORBOARD_ID,
  description: "curves",
  state: "STATE_RUNNING",
  startTime: "2026-11-27T09:03:00Z",
  jobId: TENSORBOARD_ID,
  serviceAddress: `/proxy/${TENSORBOARD_ID}/`,
  experimentIds: [42],
  trialIds: [],
};

/** The queued notebook and a running generic task. */
export const jobs: Message["Job"][] = [
  {
    jobId: NOTEBOOK_ID,
    entityId: NOTEBOOK_ID,
    type: "TYPE_NOTEBOOK",
    requestedSlots: 4,
    allocatedSlots: 0,
    reason: "all 8 slots of the pool are in use",
    summary: { state: "STATE_QUEUED", jobsAhead: 1 },
  },
  {
    jobId: GENERIC_ID,
    entityId: GENERIC_ID,
    type: "TYPE_GENERIC",
    name: "collect",
    username: "ann",
    userId: 1,
    workspaceId: 7,
    resourcePool: "default",
    requestedSlots: 1,
    allocatedSlots: 1,
    reason: "",
    submissionTime: "2026-11-27T09:04:00Z",
    summary: { state: "STATE_SCHEDULED", jobsAhead: 0 },
  },
];

/** The master's answers with one task of each kind. */
export const taskAnswers = {
  "GET /api/v1/notebooks": { notebooks: [notebook] },
  "GET /api/v1/shells": { shells: [shell] },
  "GET /api/v1/commands": { commands: [command] },
  "GET /api/v1/tensorboards": { tensorboards: [tensorboard] },
  "GET /api/v1/resource-pools": { resourcePools: [{ name: "default" }] },
  "GET /api/v1/job-queues": { jobs },
  "GET /api/v1/templates": { templates: [{ name: "small", workspaceId: 7 }] },
};
