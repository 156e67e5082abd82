import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import projects from "@goldens/projects.json";
import type { Message } from "@/api/types";
import { like } from "@/testing/goldens";
import { showPage, viewer, type Answers } from "@/testing/pages";
import { BulkBar } from "./BulkBar";
import type { Kind } from "./rows";

const show = (answers: Answers, onGone = vi.fn(), kind: Kind = "experiments") =>
  showPage(
    () => (
      <BulkBar
        {...{ selected: new Set([1, 2]), rows: [], kind }}
        onClear={() => undefined}
        onGone={onGone}
        onCompare={() => undefined}
      />
    ),
    "/",
    "/",
    answers,
  );

/** Once it is known that one may. */
async function press(name: string) {
  await vi.waitFor(() => expect(screen.getByRole("button", { name })).toBeEnabled());
  await userEvent.click(screen.getByRole("button", { name }));
}

it("offers a viewer none of it, and says why", async () => {
  const page = show(viewer);
  await vi.waitFor(() =>
    expect(page.calls.some(({ what }) => /permissions/.test(what))).toBe(true),
  );
  for (const name of ["Pause", "Kill", "Delete", "Move"]) {
    expect(screen.getByRole("button", { name })).toBeDisabled();
    expect(screen.getByRole("button", { name }).title).toMatch(/^Needs the role Editor/);
  }
});

it("deletes all that may be, after it has said what is lost, and tells what was refused", async () => {
  const asked = vi.spyOn(window, "confirm").mockReturnValue(true);
  const onGone = vi.fn();
  const deletions = {
    "DELETE /api/v1/experiments/1": {},
    "DELETE /api/v1/experiments/2": new Error("it runs"),
  };
  show(deletions, onGone);
  await press("Delete");
  expect(await screen.findByText("1 deleted; 1 refused: it runs")).toBeVisible();
  expect(asked.mock.calls[0]?.[0]).toMatch(/^Delete 2 experiments\? Their trials/);
  // The master deletes none of which a model's version holds a checkpoint.
  expect(asked.mock.calls[0]?.[0]).toMatch(/holds a checkpoint are refused\.$/);
  expect(screen.getByText("request r-1")).toBeVisible();
  expect(onGone).toHaveBeenCalledWith([1]);
});

it("moves all to one project", async () => {
  const project = like<Message["Project"]>(projects.answer.projects[0], {
    ...{ id: 4, name: "trees", archived: false },
  });
  const page = show({
    "GET /api/v1/workspaces/7/projects": { projects: [project] },
    "POST /api/v1/experiments/1/move": {},
    "POST /api/v1/experiments/2/move": {},
  });
  await press("Move");
  expect(await screen.findByLabelText("To project")).toHaveTextContent("vision / trees");
  await userEvent.click(screen.getAllByRole("button", { name: "Move" }).at(-1) as HTMLElement);
  expect(await screen.findByText("2 moved")).toBeVisible();
  expect(page.bodyOf("POST /api/v1/experiments/2/move")).toEqual({ destinationProjectId: 4 });
});

it("says why nothing can be moved, in place of doing nothing", async () => {
  show({ "GET /api/v1/workspaces/7/projects": new Error("the database is away") });
  await press("Move");
  expect(await screen.findByText("the database is away")).toBeVisible();
  expect(screen.getAllByRole("button", { name: "Move" }).at(-1)).toBeDisabled();
});

it("says that no workspace is open to move to", async () => {
  show({ "GET /api/v1/workspaces": { workspaces: [] } });
  await press("Move");
  expect(await screen.findByText(/^There is no workspace that is not archived/)).toBeVisible();
});

it("does it with runs in one call, and tells what was refused of which", async () => {
  const asked = vi.spyOn(window, "confirm").mockReturnValue(true);
  const onGone = vi.fn();
  const results = [
    { id: 1, error: "" },
    { id: 2, error: "run 2 belongs to a search" },
  ];
  const page = show({ "POST /api/v1/runs/delete": { results } }, onGone, "runs");
  await press("Delete");
  expect(await screen.findByText(/^1 deleted; 1 refused: run 2 belongs to a search/)).toBeVisible();
  expect(asked.mock.calls[0]?.[0]).toMatch(/^Delete 2 runs\? Their logs/);
  expect(page.bodyOf("POST /api/v1/runs/delete")).toEqual({ runIds: [1, 2] });
  expect(onGone).toHaveBeenCalledWith([1]);
});

it("moves runs to a project, and says when the call itself was refused", async () => {
  const project = like<Message["Project"]>(projects.answer.projects[0], {
    ...{ id: 4, name: "trees", archived: false },
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
  await screen.findByLabelText("To project");
  await userEvent.click(screen.getAllByRole("button", { name: "Move" }).at(-1) as HTMLElement);
  expect(await screen.findByText(/^0 moved; 2 refused: the project is archived/)).toBeVisible();
  const body = { runIds: [1, 2], destinationProjectId: 4 };
  expect(page.bodyOf("POST /api/v1/runs/move")).toEqual(body);
});
