import { useQueryClient } from "@tanstack/react-query";
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { gzip } from "pako";
import { expect, it, vi } from "vitest";
import golden from "@goldens/experiment.json";
import projects from "@goldens/projects.json";
import type { Experiment, Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage, viewer } from "@/testing/pages";
import { tensorboard, TENSORBOARD_ID } from "@/testing/tasks";
import { createTarHeader, getTarPadding, tarEnd } from "@/tar";
import { Actions } from "./Actions";

const experiment = copyGolden<Experiment>(golden.answer.experiment, {
  id: 1,
  workspaceId: 7,
  projectId: 3,
  numTrials: 2,
  checkpointSize: "2000000",
});
const project = (id: number, name: string) =>
  copyGolden<Message["Project"]>(projects.answer.projects[0], { id, name, archived: false });
const show = (at = "/", answers = {}) =>
  showPage(() => <Actions experiment={experiment} />, "/", at, {
    "GET /api/v1/workspaces/7/projects": { projects: [project(3, "nets"), project(4, "trees")] },
    ...answers,
  });

/** Shows the dialog to edit a running experiment in a pool with this policy. */
function edit(policy?: string) {
  const patch = "PATCH /api/v1/experiments/1";
  const running: Experiment = {
    ...experiment,
    state: "STATE_RUNNING",
    resourcePool: "default",
    config: { resources: { priority: 42, weight: 1.5, max_slots: 8 } } as never,
  };
  function Page() {
    useQueryClient().setQueryData(["overview"], policy && { pools: [{ name: "default", policy }] });
    return <Actions experiment={running} />;
  }
  const page = showPage(Page, "/", "/?do=edit", { [patch]: {} });
  return { ...page, getPatch: () => page.getBody(patch) };
}

it("sends only changed fields, so that concurrent changes remain", async () => {
  const page = edit();
  const name = await screen.findByLabelText("Name");
  await userEvent.clear(name);
  await userEvent.type(name, "bert");
  await userEvent.clear(screen.getByLabelText("Priority"));
  await userEvent.type(screen.getByLabelText("Priority"), "10");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() =>
    expect(page.getPatch()).toEqual({ name: "bert", resources: { priority: 10 } }),
  );
});

it.each([
  ["priority", { Priority: 42, "Max slots": 8 }, "Weight"],
  ["fair_share", { Weight: 1.5, "Max slots": 8 }, "Priority"],
])("shows the current scheduling settings that a %s pool uses", async (policy, values, hidden) => {
  edit(policy);
  for (const [label, value] of Object.entries(values))
    expect(await screen.findByLabelText(label)).toHaveValue(value);
  expect(screen.queryByLabelText(hidden)).toBeNull();
});

it("removes the limit of slots", async () => {
  const page = edit("priority");
  await userEvent.clear(await screen.findByLabelText("Max slots"));
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() => expect(page.getPatch()).toEqual({ resources: { maxSlots: 0 } }));
});

it("offers no scheduling settings when the experiment has ended", async () => {
  show("/?do=edit");
  expect(await screen.findByLabelText("Name")).toBeVisible();
  expect(screen.queryByLabelText("Max slots")).toBeNull();
});

it("moves to another project that the user can edit", async () => {
  const post = "POST /api/v1/experiments/1/move";
  const page = show("/?do=move", { [post]: {} });
  const choice = await screen.findByLabelText("Destination project");
  expect(choice).toHaveTextContent("vision / trees");
  expect(choice).not.toHaveTextContent("nets");
  await userEvent.click(screen.getAllByRole("button", { name: "Move" }).at(-1) as HTMLElement);
  await vi.waitFor(() => expect(page.getBody(post)).toEqual({ destinationProjectId: 4 }));
});

it.each([
  ["there is no other project", { projects: [project(3, "nets")] }, /no other project/],
  [
    "the projects cannot be read",
    new Error("the database is unavailable"),
    /database is unavailable/,
  ],
])("explains why nothing can be moved when %s", async (_, answer, words) => {
  show("/?do=move", { "GET /api/v1/workspaces/7/projects": answer });
  expect(await screen.findByText(words)).toBeVisible();
  expect(screen.getAllByRole("button", { name: "Move" }).at(-1)).toBeDisabled();
});

it("names what is lost before it deletes, and opens the list afterwards", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const page = show("/", { "DELETE /api/v1/experiments/1": {} });
  await userEvent.click(await screen.findByRole("button", { name: "Delete" }));
  expect(confirm.mock.calls[0]?.[0]).toMatch(
    /This deletes its 2 trials, logs and 2 MB of checkpoints/,
  );
  // The master does not delete experiments with a checkpoint in a registered model.
  expect(confirm.mock.calls[0]?.[0]).toMatch(/checkpoint in a registered model cannot be deleted/);
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/experiments"));
});

it.each(["STATE_RUNNING", "STATE_COMPLETED"] as const)(
  "disables the actions of a viewer in %s with the reason",
  async (state) => {
    const answers = { ...viewer, "POST /api/v1/experiments/1/kill": {} };
    const page = showPage(
      () => <Actions experiment={{ ...experiment, state, workspaceName: "vision" }} />,
      "/",
      "/?do=edit",
      answers,
    );
    await vi.waitFor(() =>
      expect(page.calls.some(({ what }) => /permissions/.test(what))).toBe(true),
    );
    // Viewers see the artifacts of experiments, also in a TensorBoard.
    const buttons = screen
      .getAllByRole("button")
      .filter(({ textContent }) => textContent !== "Open TensorBoard");
    expect(buttons.length).toBeGreaterThan(5);
    const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
    for (const button of buttons) {
      expect(button).toHaveAttribute("aria-disabled", "true");
      expect(button.title).toMatch(
        /^Requires the permission "[a-z ]+" in (workspace vision|a workspace);/,
      );
      await userEvent.click(button);
    }
    expect(screen.queryByRole("link")).toBeNull();
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(confirm).not.toHaveBeenCalled();
    expect(page.calls.every(({ what }) => what.startsWith("GET "))).toBe(true);
  },
);

it("opens a TensorBoard of the experiment that has not ended instead of launching one", async () => {
  const known = { ...tensorboard, experimentIds: [1] };
  const page = show("/", { "GET /api/v1/tensorboards": { tensorboards: [known] } });
  const button = await screen.findByRole("button", { name: "Open TensorBoard" });
  await vi.waitFor(() => expect(button).toHaveAttribute("aria-disabled", "false"));
  await userEvent.click(button);
  await vi.waitFor(() =>
    expect(page.router.state.location.pathname).toBe(`/tasks/${TENSORBOARD_ID}/open`),
  );
  expect(page.calls.every(({ what }) => what.startsWith("GET "))).toBe(true);
});

it("launches a notebook with the files of the experiment in its workspace", async () => {
  const body = new TextEncoder().encode("run()");
  const tar = [...createTarHeader("run.py", 5), body, getTarPadding(5), tarEnd()];
  const bytes = Uint8Array.from(tar.flatMap((part) => [...part]));
  const b64Tgz = btoa(String.fromCharCode(...gzip(bytes)));
  const page = show("/?do=notebook", {
    "GET /api/v1/resource-pools": {},
    "GET /api/v1/templates": {},
    "GET /api/v1/experiments/1/model_def": { b64Tgz },
    "POST /api/v1/notebooks": { notebook: { id: "n-1" }, config: {} },
  });
  await screen.findByText("Configuration is valid.");
  await userEvent.click(screen.getByRole("button", { name: "Launch" }));
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/tasks/n-1/open"));
  const file = { path: "run.py", type: 48, content: btoa("run()"), mode: 0o644, mtime: "0" };
  expect(page.calls.filter(({ what }) => what.startsWith("POST")).at(-1)?.body).toEqual({
    workspaceId: 7,
    configOverrides: ['description="Notebook of experiment 1"'],
    files: [file],
  });
});

it("shows the master's refusal", async () => {
  const refusal = { "POST /api/v1/experiments/1/archive": new Error("it is busy") };
  show("/", refusal);
  await userEvent.click(await screen.findByRole("button", { name: "Archive" }));
  expect(await screen.findByText(/it is busy/)).toBeVisible();
});

it.each([
  ["STATE_RUNNING", ["Open TensorBoard", "Edit", "Move"]],
  ["STATE_PAUSED", ["Open TensorBoard", "Edit", "Move"]],
  ["STATE_ERROR", ["Archive", "Open TensorBoard", "Edit", "Move", "Delete"]],
] as const)("offers what applies to an unmanaged experiment in %s", async (state, labels) => {
  const unmanaged = { ...experiment, state, unmanaged: true };
  showPage(() => <Actions experiment={unmanaged} />, "/", "/?do=edit", {});
  const dialog = await screen.findByRole("dialog");
  expect(within(dialog).queryByLabelText("Priority")).toBeNull();
  const buttons = screen.getAllByRole("button").filter((button) => !dialog.contains(button));
  expect(buttons.map((button) => button.textContent)).toEqual(labels);
  expect(screen.queryByRole("link")).toBeNull();
});
