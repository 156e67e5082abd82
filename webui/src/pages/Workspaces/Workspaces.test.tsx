import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/workspaces.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage } from "@/testing/pages";
import Workspaces from "./Workspaces";

const [always, created] = golden.answer.workspaces;
const workspaces = [
  copyGolden<Message["Workspace"]>(always),
  copyGolden<Message["Workspace"]>(created, { id: 7, pinned: true, numProjects: 2 }),
  copyGolden<Message["Workspace"]>(created, { id: 8, name: "old", archived: true }),
];
const answers = { "GET /api/v1/workspaces": { workspaces } };

test("lists pinned workspaces first, and archived ones on request", async () => {
  showPage(Workspaces, "/workspaces", "/workspaces", answers);
  await screen.findByRole("link", { name: "vision" });
  const names = () => screen.getAllByRole("link").map((link) => link.textContent);
  expect(names()).toEqual(["vision", "Uncategorized"]);
  await userEvent.click(screen.getByLabelText("Show archived"));
  expect(names()).toEqual(["vision", "Uncategorized", "old"]);
});

test("makes the creator the workspace admin", async () => {
  const page = showPage(Workspaces, "/workspaces", "/workspaces?do=create", {
    ...answers,
    "POST /api/v1/workspaces": { workspace: { id: 9 } },
  });
  await userEvent.type(await screen.findByLabelText("Name"), " speech ");
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/workspaces/9"));
  expect(page.getBody("POST /api/v1/workspaces")).toMatchObject({ name: "speech" });
  const reads = page.calls.filter(({ what }) => what === "GET /api/v1/permissions/summary");
  expect(reads).toHaveLength(2);
});
