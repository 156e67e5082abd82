import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { showPage, viewer } from "@/testing/pages";
import { membersOf } from "./Members";
import Workspace from "./Workspace";

const members = {
  usersAssignedDirectly: [
    { id: 2, username: "bob" },
    { id: 1, username: "ann", displayName: "Ann" },
  ],
  assignments: [
    { role: { name: "Editor" }, userRoleAssignments: [{ userId: 2 }] },
    { role: { name: "WorkspaceAdmin" }, userRoleAssignments: [{ userId: 1 }] },
  ],
};
const answers = {
  "GET /api/v1/workspaces/7": { workspace: { id: 7, name: "vision", numProjects: 1 } },
  "GET /api/v1/workspaces/7/projects": {
    projects: [{ id: 3, name: "nets", key: "NETS", numExperiments: 4 }],
  },
  "GET /api/v1/roles/workspace/7": members,
  "GET /api/v1/workspaces/7/available-resource-pools": { resourcePools: ["gpu"] },
  "GET /api/v1/resource-pools": {
    resourcePools: [{ name: "gpu", workspaces: ["vision"], slotsAvailable: 8 }, { name: "other" }],
  },
  "GET /api/v1/quotas": {
    quotas: [
      { scope: "user", name: "vision", maxSlots: 1 },
      { scope: "workspace", name: "vision", slotHours: 100, slotHoursUsed: 25 },
    ],
  },
};
const show = (at: string, more = {}) =>
  showPage(Workspace, "/workspaces/:id/:tab?", `/workspaces/7${at}`, { ...answers, ...more });

test("its projects lead to their experiments", async () => {
  show("");
  expect(await screen.findByRole("link", { name: "nets" })).toHaveAttribute("href", "/projects/3");
  expect(screen.getByRole("link", { name: "4" })).toHaveAttribute("href", "/experiments?project=3");
});

test("members are named with their roles", () => {
  expect(membersOf(members)).toEqual([
    { userId: 1, username: "Ann (ann)", role: "WorkspaceAdmin" },
    { userId: 2, username: "bob", role: "Editor" },
  ]);
});

test("a role is taken once that is confirmed", async () => {
  vi.spyOn(window, "confirm").mockReturnValue(true);
  const post = "POST /api/v1/roles/remove-assignments";
  const page = show("/members", { [post]: {} });
  const [, second] = await screen.findAllByRole("button", { name: "Remove" });
  if (second) await userEvent.click(second);
  const roleAssignment = { role: { name: "Editor" }, scopeWorkspaceId: 7 };
  await vi.waitFor(() =>
    expect(page.bodyOf(post)).toEqual({ userRoleAssignments: [{ userId: 2, roleAssignment }] }),
  );
});

test("its own quota is shown, and the pools that it may use", async () => {
  show("/pools");
  expect(await screen.findByText(/25 of 100/)).toBeVisible();
  expect(screen.getByText(/0 of any number/)).toBeVisible();
  expect(screen.getByText("gpu")).toBeVisible();
  expect(screen.queryByText("other")).toBeNull();
});

test("a reader may pin it, and is told why not more", async () => {
  show("", viewer);
  const button = await screen.findByRole("button", { name: "New project" });
  expect(button.title).toContain("WorkspaceAdmin in vision");
  expect(screen.getByRole("button", { name: "Pin" })).toBeEnabled();
  expect(screen.queryByRole("button", { name: "Delete" })).toBeNull();
});
