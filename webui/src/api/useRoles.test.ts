import { expect, test } from "vitest";
import { explainRefusal, parseRoles } from "./useRoles";

const roles = [
  { roleId: 1, name: "ClusterAdmin" },
  { roleId: 2, name: "WorkspaceAdmin" },
  { roleId: 5, name: "Editor" },
  { roleId: 4, name: "Viewer" },
];

test("a role in a workspace holds there alone, with those below it", () => {
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

test("who may not is told where the role is needed", () => {
  const roles7 = parseRoles({ roles, assignments: [{ roleId: 5, scopeWorkspaceIds: [7] }] });
  expect(explainRefusal(roles7, "Editor", { workspaceId: 7 })).toBe(false);
  expect(explainRefusal(roles7, "Editor", { workspaceId: 8, workspaceName: "vision" })).toMatch(
    /^Requires the Editor role in workspace vision;/,
  );
  expect(explainRefusal(roles7, "Editor")).toBe(false);
  expect(explainRefusal(roles7, "WorkspaceAdmin")).toMatch(/in a workspace; ask/);
});

test("a role for the cluster holds everywhere", () => {
  const { may } = parseRoles({ roles, assignments: [{ roleId: 5, scopeCluster: true }] });
  expect(may("Editor", 8)).toBe(true);
  expect(may("Editor")).toBe(true);
  expect(may("WorkspaceAdmin", 8)).toBe(false);
});

test("a role that this page does not know is none", () => {
  const { mayAnywhere } = parseRoles({ roles, assignments: [{ roleId: 9, scopeCluster: true }] });
  expect(mayAnywhere("Viewer")).toBe(false);
});
