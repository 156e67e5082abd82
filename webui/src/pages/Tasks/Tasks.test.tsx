import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { viewer } from "@/testing/pages";
import { showPage } from "@/testing/pages";
import {
  COMMAND_ID,
  GENERIC_ID,
  notebook,
  NOTEBOOK_ID,
  SHELL_ID,
  taskAnswers,
} from "@/testing/tasks";
import Tasks from "./Tasks";

const show = (at: string, answers = {}) =>
  showPage(Tasks, "/tasks", at, { ...taskAnswers, ...answers });

/** The row of a task, once the lists and the queue are read. */
async function row(name: RegExp) {
  await screen.findByRole("row", { name: /collect/ });
  return screen.getByRole("row", { name });
}
const names = () =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map((each) => within(each).queryAllByRole("link")[0]?.textContent);

test("lists tasks of all kinds with their state and why they wait, newest first", async () => {
  show("/tasks");
  const waits = await row(/explore/);
  expect(waits).toHaveTextContent(
    /Notebook.*Queuedall 8 slots of the pool are in use.*ann.*vision.*default.*4/,
  );
  expect(await row(/debug/)).toHaveTextContent(/Shell.*Running.*ann.*vision.*default.*2/);
  expect(await row(/prepare/)).toHaveTextContent(/Command.*Error.*exit code 3.*bob/);
  expect(await row(/collect/)).toHaveTextContent(/Generic task.*Running.*ann/);
  expect(screen.getByText("5 tasks")).toBeVisible();
  expect(names()).toEqual(["collect", "curves", "prepare", "debug", "explore"]);
});

test("filters by the address and keeps the filter there", async () => {
  const page = show("/tasks?user=ann&workspace=7");
  await row(/collect/);
  expect(screen.getByText("4 tasks")).toBeVisible();
  await userEvent.selectOptions(screen.getByLabelText("Kind"), "Shell");
  expect(screen.getByText("1 task")).toBeVisible();
  expect(page.router.state.location.search).toBe("?user=ann&workspace=7&kind=shell");
  await userEvent.selectOptions(screen.getByLabelText("Kind"), "All kinds");
  await userEvent.selectOptions(screen.getByLabelText("State"), "Queued");
  expect(names()).toEqual(["explore"]);
  await userEvent.type(screen.getByLabelText("Search names and IDs"), "nothing");
  expect(screen.getByText("No tasks match the filter.")).toBeVisible();
});

test("offers what applies to a task", async () => {
  show("/tasks");
  const buttons = async (name: RegExp) => {
    const shown = await row(name);
    return [...within(shown).queryAllByRole("link"), ...within(shown).queryAllByRole("button")]
      .slice(2)
      .map((each) => [each.textContent, each.getAttribute("href")]);
  };
  expect(await buttons(/explore/)).toEqual([
    ["Open", `/tasks/${NOTEBOOK_ID}/open`],
    ["Logs", `/tasks/${NOTEBOOK_ID}/logs`],
    ["Kill", null],
  ]);
  expect(await buttons(/collect/)).toEqual([
    ["Logs", `/tasks/${GENERIC_ID}/logs`],
    ["Kill", null],
  ]);
  expect(await buttons(/prepare/)).toEqual([["Logs", `/tasks/${COMMAND_ID}/logs`]]);
});

test("kills a task after a confirmation", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const what = `POST /api/v1/shells/${SHELL_ID}/kill`;
  const page = show("/tasks", { [what]: {} });
  const shown = await row(/debug/);
  await userEvent.click(await within(shown).findByRole("button", { name: "Kill" }));
  expect(confirm).toHaveBeenCalledWith('Kill shell "debug"? Unsaved work is lost.');
  await waitFor(() => expect(page.calls.map((call) => call.what)).toContain(what));
});

test("kills the selected tasks that live and reports the others", async () => {
  vi.spyOn(window, "confirm").mockReturnValue(true);
  const page = show("/tasks", {
    [`POST /api/v1/shells/${SHELL_ID}/kill`]: {},
    [`POST /api/v1/notebooks/${NOTEBOOK_ID}/kill`]: new Error("no such notebook"),
  });
  await row(/debug/);
  for (const name of ["Shell debug", "Notebook explore", "Command prepare"])
    await userEvent.click(screen.getByRole("checkbox", { name: `Select ${name}` }));
  const bar = screen.getByRole("toolbar", { name: "Selected rows" });
  expect(bar).toHaveTextContent("3 selected");
  await userEvent.click(within(bar).getByRole("button", { name: "Kill" }));
  expect(
    await within(bar).findByText(/1 killed; 1 refused: no such notebook; skipped: 1 ended/),
  ).toBeVisible();
  expect(page.calls.filter(({ what }) => what.endsWith("/kill"))).toHaveLength(2);
  await userEvent.click(within(bar).getByRole("button", { name: "Clear" }));
  expect(screen.queryByRole("toolbar", { name: "Selected rows" })).toBeNull();
});

test("shows how to start the first task", async () => {
  show("/tasks", {
    "GET /api/v1/notebooks": {},
    "GET /api/v1/shells": {},
    "GET /api/v1/commands": {},
    "GET /api/v1/tensorboards": {},
    "GET /api/v1/job-queues": {},
  });
  expect(await screen.findByText("det notebook start")).toBeVisible();
});

test("offers neither launching nor killing without the permission", async () => {
  show("/tasks?do=notebook", viewer);
  const shown = await row(/explore/);
  const launch = screen.getByRole("button", { name: "New notebook" });
  await waitFor(() => expect(launch.title).toContain("create nsc"));
  expect(within(shown).queryByRole("button", { name: "Kill" })).toBeNull();
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("shows the error of a list", async () => {
  show("/tasks", {
    "GET /api/v1/notebooks": new Error("the master is starting"),
    "GET /api/v1/shells": {},
    "GET /api/v1/commands": {},
    "GET /api/v1/tensorboards": {},
    "GET /api/v1/job-queues": {},
  });
  expect(await screen.findByText("the master is starting")).toBeVisible();
});

test("opens the dialog for a new notebook from the toolbar", async () => {
  const preview = { notebook: {}, config: { description: notebook.description } };
  show("/tasks", { "POST /api/v1/notebooks": preview });
  const launch = await screen.findByRole("button", { name: "New notebook" });
  await waitFor(() => expect(launch).toHaveAttribute("aria-disabled", "false"));
  await userEvent.click(launch);
  expect(await screen.findByRole("heading", { name: "New notebook" })).toBeVisible();
});
