import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import projects from "@goldens/projects.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage, viewer, type Answers } from "@/testing/pages";
import { BulkBar } from "./BulkBar";
import type { Kind, Row } from "./rows";

const row = (id: number, projectId: number): Row => ({
  kind: "experiments",
  id,
  experiment: { id, projectId },
});

interface Shown {
  rows?: Row[];
  found?: number;
  onAll?: () => Promise<void>;
}

const show = (
  answers: Answers,
  onGone = vi.fn(),
  kind: Kind = "experiments",
  { rows = [row(1, 3), row(2, 3)], found = 2, onAll = () => Promise.resolve() }: Shown = {},
) =>
  showPage(
    () => (
      <BulkBar
        selected={new Set(rows.map(({ id }) => id))}
        rows={rows}
        kind={kind}
        found={found}
        onAll={onAll}
        onClear={() => undefined}
        onGone={onGone}
        onCompare={() => undefined}
      />
    ),
    "/",
    "/",
    answers,
  );

/** Clicks a button once the permissions are loaded. */
async function press(name: string) {
  await vi.waitFor(() => expect(screen.getByRole("button", { name })).toBeEnabled());
  await userEvent.click(screen.getByRole("button", { name }));
}

it("disables the actions for a viewer with the reason", async () => {
  const page = show(viewer);
  await vi.waitFor(() =>
    expect(page.calls.some(({ what }) => /permissions/.test(what))).toBe(true),
  );
  for (const name of ["Pause", "Kill", "Delete", "Move"]) {
    expect(screen.getByRole("button", { name })).toBeDisabled();
    expect(screen.getByRole("button", { name }).title).toMatch(
      /^Requires the permission "update experiment"/,
    );
  }
});

const stateRow = (id: number, state: string, archived = false): Row => ({
  kind: "experiments",
  id,
  experiment: { id, projectId: 3, state: `STATE_${state}` as "STATE_ACTIVE", archived },
});

it("offers only the actions that apply to the selection, with the reason", async () => {
  show({}, vi.fn(), "experiments", { rows: [stateRow(1, "COMPLETED"), stateRow(2, "ERROR")] });
  await vi.waitFor(() => expect(screen.getByRole("button", { name: "Archive" })).toBeEnabled());
  const refusals: Record<string, string> = {
    Pause: "Pause does not apply: 2 ended",
    Activate: "Activate does not apply: 2 ended",
    Cancel: "Cancel does not apply: 2 ended",
    Kill: "Kill does not apply: 2 ended",
    Unarchive: "Unarchive does not apply: 2 not archived",
  };
  for (const [name, reason] of Object.entries(refusals)) {
    expect(screen.getByRole("button", { name })).toBeDisabled();
    expect(screen.getByRole("button", { name })).toHaveAttribute("title", reason);
  }
  for (const name of ["Archive", "Delete", "Move"])
    expect(screen.getByRole("button", { name })).toBeEnabled();
});

it("skips the rows to which an action does not apply, and says so", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const rows = [stateRow(1, "COMPLETED"), stateRow(2, "RUNNING"), stateRow(3, "PAUSED")];
  const page = show(
    { "DELETE /api/v1/projects/3/experiments/delete": {} },
    vi.fn(),
    "experiments",
    { rows },
  );
  await press("Delete");
  expect(await screen.findByText("1 deleted; 2 skipped: 2 not ended")).toBeVisible();
  expect(confirm.mock.calls[0]?.[0]).toMatch(/^Delete 1 of 3 experiments\?/);
  expect(page.getBody("DELETE /api/v1/projects/3/experiments/delete")).toEqual({
    experimentIds: [1],
  });
  expect(screen.getByRole("button", { name: "Pause" }).title).toBe("Skipped: 1 ended, 1 paused");
});

it.each([
  ["RUNNING", false, ["Pause", "Kill", "Move"]],
  ["PAUSED", false, ["Resume", "Kill", "Move"]],
  ["COMPLETED", false, ["Archive", "Delete", "Move"]],
  ["RUNNING", true, ["Kill"]],
  ["COMPLETED", true, []],
])(
  "offers for a trial that is %s, part of a search: %s, only %s",
  async (state, isMultitrial, names) => {
    const trial: Row = {
      kind: "runs",
      id: 1,
      run: {
        id: 1,
        trialState: `STATE_${state}` as "STATE_ACTIVE",
        archived: false,
        experiment: { id: 7, isMultitrial },
      },
    };
    const page = show({}, vi.fn(), "runs", { rows: [trial] });
    await vi.waitFor(() =>
      expect(page.calls.some(({ what }) => /permissions/.test(what))).toBe(true),
    );
    const all = ["Pause", "Resume", "Kill", "Archive", "Unarchive", "Delete", "Move"];
    await vi.waitFor(() =>
      expect(
        all.filter((name) => !screen.getByRole<HTMLButtonElement>("button", { name }).disabled),
      ).toEqual(names),
    );
  },
);

it("deletes after a confirmation and reports refusals", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const onGone = vi.fn();
  const results = [{ id: 1 }, { id: 2, error: "it runs" }];
  const page = show({ "DELETE /api/v1/projects/3/experiments/delete": { results } }, onGone);
  await press("Delete");
  expect(await screen.findByText("1 deleted; 1 refused: it runs")).toBeVisible();
  expect(confirm.mock.calls[0]?.[0]).toMatch(/^Delete 2 experiments\? Their trials/);
  // The master does not delete experiments with a checkpoint in a registered model.
  expect(confirm.mock.calls[0]?.[0]).toMatch(/checkpoint in a registered model are skipped\.$/);
  expect(onGone).toHaveBeenCalledWith([1]);
  expect(page.getBody("DELETE /api/v1/projects/3/experiments/delete")).toEqual({
    experimentIds: [1, 2],
  });
});

it("moves all to one project", async () => {
  const project = copyGolden<Message["Project"]>(projects.answer.projects[0], {
    id: 4,
    name: "trees",
    archived: false,
  });
  const page = show({
    "GET /api/v1/workspaces/7/projects": { projects: [project] },
    "POST /api/v1/projects/3/experiments/move": {},
  });
  await press("Move");
  expect(await screen.findByLabelText("Destination project")).toHaveTextContent("vision / trees");
  await userEvent.click(screen.getAllByRole("button", { name: "Move" }).at(-1) as HTMLElement);
  expect(await screen.findByText("2 moved")).toBeVisible();
  expect(page.getBody("POST /api/v1/projects/3/experiments/move")).toEqual({
    experimentIds: [1, 2],
    destinationProjectId: 4,
  });
});

it("finds moved experiments in their new project", async () => {
  const project = copyGolden<Message["Project"]>(projects.answer.projects[0], {
    id: 4,
    name: "trees",
    archived: false,
  });
  const page = show({
    "GET /api/v1/workspaces/7/projects": { projects: [project] },
    "POST /api/v1/projects/3/experiments/move": { results: [{ id: 2, error: "it is archived" }] },
    "POST /api/v1/projects/3/experiments/pause": {},
    "POST /api/v1/projects/4/experiments/pause": {},
  });
  await press("Move");
  await screen.findByLabelText("Destination project");
  await userEvent.click(screen.getAllByRole("button", { name: "Move" }).at(-1) as HTMLElement);
  expect(await screen.findByText(/^1 moved; 1 refused/)).toBeVisible();
  await press("Pause");
  expect(await screen.findByText("2 paused")).toBeVisible();
  expect(page.getBody("POST /api/v1/projects/4/experiments/pause")).toEqual({ experimentIds: [1] });
  expect(page.getBody("POST /api/v1/projects/3/experiments/pause")).toEqual({ experimentIds: [2] });
});

it("calls each project with at most 1,000 experiments and confirms their number first", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const rows = Array.from({ length: 1201 }, (_, i) => row(i + 1, i < 1200 ? 3 : 5));
  const page = show(
    {
      "POST /api/v1/projects/3/experiments/pause": {},
      "POST /api/v1/projects/5/experiments/pause": new Error("the database is unavailable"),
    },
    vi.fn(),
    "experiments",
    { rows, found: 1201 },
  );
  await press("Pause");
  expect(
    await screen.findByText("1200 paused; 1 refused: the database is unavailable"),
  ).toBeVisible();
  expect(screen.getByText("Request ID r-1")).toBeInTheDocument();
  expect(confirm).toHaveBeenCalledWith("Pause 1,201 experiments?");
  const sizes = page.calls
    .filter(({ what }) => what.endsWith("/pause"))
    .map(({ what, body }) => [
      what.split("/")[4],
      (body as { experimentIds: number[] }).experimentIds.length,
    ]);
  expect(sizes).toEqual([
    ["3", 1000],
    ["3", 200],
    ["5", 1],
  ]);
});

it("asks no confirmation for reversible actions on few rows", async () => {
  const confirm = vi.spyOn(window, "confirm");
  show({ "POST /api/v1/projects/3/experiments/pause": {} });
  await press("Pause");
  expect(await screen.findByText("2 paused")).toBeVisible();
  expect(confirm).not.toHaveBeenCalled();
});

it("selects all matching rows, and reports an error", async () => {
  const onAll = vi.fn(() => Promise.reject(new Error("the master is unreachable")));
  show({}, vi.fn(), "experiments", { found: 1234, onAll });
  await userEvent.click(screen.getByRole("button", { name: "Select all 1,234 matching rows" }));
  expect(onAll).toHaveBeenCalledOnce();
  expect(
    await screen.findByText(/Cannot select all rows: the master is unreachable/),
  ).toBeVisible();
});

it("explains why nothing can be moved", async () => {
  show({ "GET /api/v1/workspaces/7/projects": new Error("the database is unavailable") });
  await press("Move");
  expect(await screen.findByText("the database is unavailable")).toBeVisible();
  expect(screen.getAllByRole("button", { name: "Move" }).at(-1)).toBeDisabled();
});

it("explains that no workspace accepts the experiments", async () => {
  show({ "GET /api/v1/workspaces": { workspaces: [] } });
  await press("Move");
  expect(
    await screen.findByText(/^You cannot edit any workspace that is not archived/),
  ).toBeVisible();
});

it("acts on runs in one call and reports each refusal", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const onGone = vi.fn();
  const results = [
    { id: 1, error: "" },
    { id: 2, error: "run 2 belongs to a search" },
  ];
  const page = show({ "POST /api/v1/runs/delete": { results } }, onGone, "runs");
  await press("Delete");
  expect(await screen.findByText(/^1 deleted; 1 refused: run 2 belongs to a search/)).toBeVisible();
  expect(confirm.mock.calls[0]?.[0]).toMatch(/^Delete 2 trials\? Their logs/);
  expect(page.getBody("POST /api/v1/runs/delete")).toEqual({ runIds: [1, 2] });
  expect(onGone).toHaveBeenCalledWith([1]);
});

it("moves runs to a project and reports a refused call", async () => {
  const project = copyGolden<Message["Project"]>(projects.answer.projects[0], {
    id: 4,
    name: "trees",
    archived: false,
  });
  const page = show(
    {
      "GET /api/v1/workspaces/7/projects": { projects: [project] },
      "POST /api/v1/runs/move": new Error("the project is archived"),
    },
    vi.fn(),
    "runs",
  );
  await press("Move");
  await screen.findByLabelText("Destination project");
  await userEvent.click(screen.getAllByRole("button", { name: "Move" }).at(-1) as HTMLElement);
  expect(await screen.findByText(/^0 moved; 2 refused: the project is archived/)).toBeVisible();
  const body = { runIds: [1, 2], destinationProjectId: 4 };
  expect(page.getBody("POST /api/v1/runs/move")).toEqual(body);
});

it.each([
  ["experiments", { experimentIds: [1, 2], trialIds: [] }],
  ["runs", { experimentIds: [], trialIds: [1, 2] }],
] as const)("opens one TensorBoard for all selected %s", async (kind, source) => {
  const page = show(
    {
      // One of another source, and one of the same source that has ended.
      "GET /api/v1/tensorboards": {
        tensorboards: [
          { id: "other", state: "STATE_RUNNING", experimentIds: [1] },
          { id: "ended", state: "STATE_TERMINATED", ...source },
        ],
      },
      "POST /api/v1/tensorboards": { tensorboard: { id: "new" }, config: {} },
    },
    vi.fn(),
    kind,
  );
  await press("Open TensorBoard");
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/tasks/new/open"));
  expect(page.getBody("POST /api/v1/tensorboards")).toEqual(source);
});

it("says why a TensorBoard cannot be opened", async () => {
  show({ "GET /api/v1/tensorboards": new Error("the master is busy") });
  await press("Open TensorBoard");
  expect(await screen.findByText(/Cannot open TensorBoard: the master is busy/)).toBeVisible();
});
