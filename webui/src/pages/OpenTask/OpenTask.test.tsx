import { screen, waitFor } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { showPage, type Answers } from "@/testing/pages";
import { command, COMMAND_ID, jobs, notebook, NOTEBOOK_ID, shell, SHELL_ID } from "@/testing/tasks";
import { leaveFor } from "./leaveFor";
import OpenTask from "./OpenTask";

vi.mock("./leaveFor", () => ({ leaveFor: vi.fn() }));

const show = (id: string, answers: Answers) =>
  showPage(OpenTask, "/tasks/:id/open", `/tasks/${id}/open`, answers);

const getTask = (id: string, taskType: string, isReady: boolean) => ({
  [`GET /api/v1/tasks/${id}`]: { task: { taskId: id, taskType, allocations: [{ isReady }] } },
});

test("shows why a notebook waits, and leads to its service once it is ready", async () => {
  const answers: Answers = {
    ...getTask(NOTEBOOK_ID, "TASK_TYPE_NOTEBOOK", false),
    [`GET /api/v1/notebooks/${NOTEBOOK_ID}`]: { notebook },
    [`GET /api/v1/job-queues/${NOTEBOOK_ID}/explain`]: {
      job: jobs[0],
      waiting: [{ reason: "all 8 slots of the pool are in use" }],
    },
  };
  show(NOTEBOOK_ID, answers);
  expect(
    await screen.findByText(/^all 8 slots of the pool are in use. The notebook/),
  ).toBeVisible();
  expect(screen.getByText("Queued")).toBeVisible();
  expect(leaveFor).not.toHaveBeenCalled();
  Object.assign(answers, getTask(NOTEBOOK_ID, "TASK_TYPE_NOTEBOOK", true));
  await waitFor(() => expect(leaveFor).toHaveBeenCalledWith(notebook.serviceAddress));
});

test("leads to the terminal of a shell", async () => {
  const page = show(SHELL_ID, {
    ...getTask(SHELL_ID, "TASK_TYPE_SHELL", true),
    [`GET /api/v1/shells/${SHELL_ID}`]: { shell },
  });
  await waitFor(() =>
    expect(page.router.state.location.pathname).toBe(`/tasks/${SHELL_ID}/terminal`),
  );
});

test("leads to the log of a command, which has no service", async () => {
  const page = show(COMMAND_ID, {
    ...getTask(COMMAND_ID, "TASK_TYPE_COMMAND", false),
    [`GET /api/v1/commands/${COMMAND_ID}`]: { command: { ...command, state: "STATE_RUNNING" } },
  });
  await waitFor(() =>
    expect(page.router.state.location.pathname).toBe(`/tasks/${COMMAND_ID}/logs`),
  );
});

test("shows the last lines of the log of a task that has ended", async () => {
  const lines = ["last", "first"].map((log) => JSON.stringify({ result: { log } })).join("\n");
  show(NOTEBOOK_ID, {
    ...getTask(NOTEBOOK_ID, "TASK_TYPE_NOTEBOOK", false),
    [`GET /api/v1/notebooks/${NOTEBOOK_ID}`]: {
      notebook: { ...notebook, state: "STATE_TERMINATED", exitStatus: "no module jupyterlab" },
    },
    [`GET /api/v1/tasks/${NOTEBOOK_ID}/logs`]: lines,
  });
  expect(await screen.findByText(/The notebook has ended: no module jupyterlab/)).toBeVisible();
  expect((await screen.findByLabelText("Last lines of the log")).textContent).toBe("first\nlast\n");
  expect(leaveFor).not.toHaveBeenCalledWith("");
});
