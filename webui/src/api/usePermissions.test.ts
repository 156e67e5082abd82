import { expect, test } from "vitest";
import { explainRefusal, parseRoles } from "./useRoles";

const roles = [
  { roleId: 1, name: "ClusterAdmin" },
  { roleId: 2, name: "WorkspaceAdmin" },
  { roleId: 5, name: "Editor" },
  { roleId: 4, name: "Viewer" },
];

test("limits a workspace role to its workspace and includes lower roles", () => {
  const { may, mayAnywhere } = parseRoles({
    roles,
    assignments: [{ roleId: 2, scopeWorkspaceIds: [7] }],
  });
  expect(may("WorkspaceAdmin", 7)).toBe(true);
  expect(may("Viewer", 7)).toBe(true);
  expect(may("ClusterAdmin", 7)).toBe(false);
  expect(may("Viewer", 8)).toBe(false);
  expect(may("Viewer")).toBe(false);
  expect(mayAnywhere("Editor")).toBe(true);
});

test("names the missing role and its workspace", () => {
  const roles7 = parseRoles({ roles, assignments: [{ roleId: 5, scopeWorkspaceIds: [7] }] });
  expect(explainRefusal(roles7, "Editor", { workspaceId: 7 })).toBe(false);
  expect(explainRefusal(roles7, "Editor", { workspaceId: 8, workspaceName: "vision" })).toMatch(
    /^Requires the Editor role in workspace vision;/,
  );
  expect(explainRefusal(roles7, "Editor")).toBe(false);
  expect(explainRefusal(roles7, "WorkspaceAdmin")).toMatch(/in a workspace; ask/);
});

test("applies a cluster role everywhere", () => {
  const { may } = parseRoles({ roles, assignments: [{ roleId: 5, scopeCluster: true }] });
  expect(may("Editor", 8)).toBe(true);
  expect(may("Editor")).toBe(true);
  expect(may("WorkspaceAdmin", 8)).toBe(false);
});

test("ignores unknown roles", () => {
  const { mayAnywhere } = parseRoles({ roles, assignments: [{ roleId: 9, scopeCluster: true }] });
  expect(mayAnywhere("Viewer")).toBe(false);
});
