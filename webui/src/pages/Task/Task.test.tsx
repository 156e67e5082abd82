import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import { showPage, type Answers } from "@/testing/pages";
import { command, COMMAND_ID, GENERIC_ID, jobs, notebook, NOTEBOOK_ID } from "@/testing/tasks";
import { shell, SHELL_ID, tensorboard, TENSORBOARD_ID } from "@/testing/tasks";
import Task from "./Task";

const show = (at: string, answers: Answers) => showPage(Task, "/tasks/:id/:tab?", at, answers);

const getTask = (id: string, taskType: string, more = {}) => ({
  [`GET /api/v1/tasks/${id}`]: {
    task: { taskId: id, taskType, startTime: "2026-11-27T09:00:00Z", allocations: [], ...more },
  },
});

const queuedNotebook: Answers = {
  ...getTask(NOTEBOOK_ID, "TASK_TYPE_NOTEBOOK"),
  [`GET /api/v1/notebooks/${NOTEBOOK_ID}`]: { notebook, config: { resources: { slots: 4 } } },
  [`GET /api/v1/job-queues/${NOTEBOOK_ID}/explain`]: {
    job: jobs[0],
    waiting: [
      {
        reason: "all 8 slots of the pool are in use",
        waitsFor: ["1.1.1"],
        estimatedStart: "2026-11-27T12:00:00Z",
        estimateBasis: "by the max_run_time of 1.1.1",
      },
    ],
  },
};

test("shows why a task waits and how to connect to it", async () => {
  show(`/tasks/${NOTEBOOK_ID}`, queuedNotebook);
  const why = await screen.findByRole("region", { name: "Why it waits" });
  expect(why).toHaveTextContent(
    /all 8 slots of the pool are in use. Waiting for 1.1.1. Estimated start: .*, by the max_run_time of 1.1.1/,
  );
  const connect = screen.getByRole("region", { name: "Connect to the notebook" });
  expect(connect).toHaveTextContent(`${location.origin}/proxy/${NOTEBOOK_ID}/?token=secret`);
  expect(connect).toHaveTextContent(`det notebook open ${NOTEBOOK_ID}`);
  expect(screen.getByRole("link", { name: "Open" })).toHaveAttribute(
    "href",
    `/tasks/${NOTEBOOK_ID}/open`,
  );
  expect(await screen.findByRole("link", { name: "vision" })).toBeVisible();
});

test("shows the complete configuration as YAML", async () => {
  show(`/tasks/${NOTEBOOK_ID}/configuration`, queuedNotebook);
  expect(await screen.findByLabelText("Configuration")).toHaveTextContent("slots: 4");
});

test("kills a task after a confirmation", async () => {
  vi.spyOn(window, "confirm").mockReturnValue(true);
  const what = `POST /api/v1/notebooks/${NOTEBOOK_ID}/kill`;
  const page = show(`/tasks/${NOTEBOOK_ID}`, { ...queuedNotebook, [what]: {} });
  const kill = await screen.findByRole("button", { name: "Kill" });
  await waitFor(() => expect(kill).toHaveAttribute("aria-disabled", "false"));
  await userEvent.click(kill);
  await waitFor(() => expect(page.calls.map((call) => call.what)).toContain(what));
});

test("shows how a command failed and offers neither opening nor killing", async () => {
  show(`/tasks/${COMMAND_ID}`, {
    ...getTask(COMMAND_ID, "TASK_TYPE_COMMAND", { endTime: "2026-11-27T09:05:00Z" }),
    [`GET /api/v1/commands/${COMMAND_ID}`]: { command },
  });
  expect(await screen.findByText("Error")).toBeVisible();
  expect(screen.getByText(/it failed \(exit code 3\)/)).toBeVisible();
  expect(screen.queryByRole("link", { name: "Open" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Kill" })).toBeNull();
  expect(screen.queryByText(/^Connect/)).toBeNull();
});

test("links what a TensorBoard shows", async () => {
  show(`/tasks/${TENSORBOARD_ID}`, {
    ...getTask(TENSORBOARD_ID, "TASK_TYPE_TENSORBOARD"),
    [`GET /api/v1/tensorboards/${TENSORBOARD_ID}`]: { tensorboard },
  });
  expect(await screen.findByRole("link", { name: "42" })).toHaveAttribute(
    "href",
    "/experiments/42",
  );
});

test("pauses and activates a generic task", async () => {
  const pause = `POST /api/v1/tasks/${GENERIC_ID}/pause`;
  const active = {
    [`GET /api/v1/tasks/${GENERIC_ID}/config`]: { config: '{"entrypoint": ["true"]}' },
    [`GET /api/v1/job-queues/${GENERIC_ID}/explain`]: { job: jobs[1] },
    ...getTask(GENERIC_ID, "TASK_TYPE_GENERIC", { taskState: "GENERIC_TASK_STATE_ACTIVE" }),
  };
  const page = show(`/tasks/${GENERIC_ID}`, { ...active, [pause]: {} });
  expect(await screen.findByText("Active")).toBeVisible();
  const button = screen.getByRole("button", { name: "Pause" });
  await waitFor(() => expect(button).toHaveAttribute("aria-disabled", "false"));
  await userEvent.click(button);
  await waitFor(() => expect(page.calls.map((call) => call.what)).toContain(pause));
});

test("explains that a trial is no such task", async () => {
  show("/tasks/1.2", getTask("1.2", "TASK_TYPE_TRIAL"));
  expect(await screen.findByText(/1.2 is not a notebook, shell/)).toBeVisible();
});

/** A fake terminal emulator that records what is written. */
const written: string[] = [];
let typeText: (text: string) => void = () => undefined;
vi.mock("./xterm", () => ({
  makeStyledDocument: () => document,
  FitAddon: class {
    fit = () => undefined;
  },
  Terminal: class {
    cols = 80;
    rows = 24;
    loadAddon = () => undefined;
    open = () => undefined;
    focus = () => undefined;
    dispose = () => undefined;
    write = (bytes: Uint8Array) => void written.push(new TextDecoder().decode(bytes));
    onData = (callback: (text: string) => void) => void (typeText = callback);
    onResize = () => undefined;
  },
}));

/** A websocket that a test opens and closes. */
class FakeSocket {
  static readonly OPEN = 1;
  static last: FakeSocket | undefined;
  binaryType = "";
  readyState = 0;
  sent: string[] = [];
  onopen = () => undefined;
  onclose = () => undefined;
  onmessage: (event: { data: unknown }) => void = () => undefined;
  constructor(readonly url: string) {
    FakeSocket.last = this;
  }
  send(message: Uint8Array) {
    const [kind = -1, high = 0, low = 0] = message;
    expect(message.length).toBe(3 + 256 * high + low);
    const body = message.subarray(3);
    this.sent.push(kind === 1 ? `size ${body.join()}` : `typed ${new TextDecoder().decode(body)}`);
  }
  open() {
    this.readyState = 1;
    this.onopen();
  }
  close() {
    this.readyState = 3;
    this.onclose();
  }
}

const readyShell: Answers = {
  ...getTask(SHELL_ID, "TASK_TYPE_SHELL", { allocations: [{ isReady: true }] }),
  [`GET /api/v1/shells/${SHELL_ID}`]: { shell },
};

beforeEach(() => {
  written.length = 0;
  FakeSocket.last = undefined;
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe = () => undefined;
      disconnect = () => undefined;
    },
  );
});

async function showTerminal() {
  show(`/tasks/${SHELL_ID}/terminal`, readyShell);
  await waitFor(() => expect(FakeSocket.last).toBeDefined());
  return FakeSocket.last as unknown as FakeSocket;
}

test("carries the terminal of a shell over a websocket of the proxy", async () => {
  const socket = await showTerminal();
  expect(socket.url).toBe(`${location.origin.replace("http", "ws")}/proxy/${SHELL_ID}:terminal/`);
  expect(socket.binaryType).toBe("arraybuffer");
  act(() => typeText("too early"));
  act(() => socket.open());
  act(() => typeText("ls é"));
  expect(socket.sent).toEqual(["size 0,80,0,24", "typed ls é"]);
  act(() => socket.onmessage({ data: new TextEncoder().encode("$ ").buffer }));
  expect(written).toEqual(["$ "]);
  act(() => socket.close());
  expect(await screen.findByText("The connection to the shell is closed.")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Connect again" }));
  await waitFor(() => expect(FakeSocket.last).not.toBe(socket));
});

test("says how to log in if the shell has no terminal", async () => {
  const socket = await showTerminal();
  act(() => socket.close());
  const status = await screen.findByRole("status");
  expect(status).toHaveTextContent(/has no terminal for the browser/);
  expect(within(status).getByText(`det shell open ${SHELL_ID}`)).toBeVisible();
});
