import { expect, test } from "vitest";
import { findRole } from "@/testing/pages";
import { explainClusterRefusal, explainRefusal, parsePermissions } from "./usePermissions";

const ME = 3;
const OTHER = 4;
const WORKSPACE = 7;

const parse = (name: string, scopeWorkspaceIds?: number[], isBasic = false) => {
  const role = findRole(name);
  const scopeCluster = scopeWorkspaceIds === undefined;
  const assignments = [{ roleId: role.roleId ?? 0, scopeCluster, scopeWorkspaceIds }];
  return parsePermissions({ roles: [role], assignments: assignments }, isBasic, ME);
};

test("limits a workspace role to its workspace", () => {
  const { may, mayAnywhere } = parse("WorkspaceAdmin", [WORKSPACE]);
  expect(may("UPDATE_WORKSPACE", WORKSPACE)).toBe(true);
  expect(may("VIEW_WORKSPACE", WORKSPACE)).toBe(true);
  expect(may("ADMINISTRATE_USER", WORKSPACE)).toBe(false);
  expect(may("VIEW_WORKSPACE", 8)).toBe(false);
  expect(may("VIEW_WORKSPACE")).toBe(false);
  expect(mayAnywhere("CREATE_EXPERIMENT")).toBe(true);
});

test("applies a cluster role everywhere", () => {
  const { may } = parse("Editor");
  expect(may("UPDATE_EXPERIMENT", 8)).toBe(true);
  expect(may("UPDATE_EXPERIMENT")).toBe(true);
  expect(may("UPDATE_WORKSPACE", 8)).toBe(false);
});

test("knows the permissions of roles that are not basic roles", () => {
  const { may } = parse("EditorRestricted", [WORKSPACE]);
  expect(may("CREATE_PROJECT", WORKSPACE)).toBe(true);
  expect(may("CREATE_NSC", WORKSPACE)).toBe(false);
});

test("adds the permissions of the cluster that the API does not list for an Editor", () => {
  expect(parse("Editor", [WORKSPACE]).mayAnywhere("CREATE_WORKSPACE")).toBe(true);
  expect(parse("EditorRestricted", [WORKSPACE]).mayAnywhere("CREATE_WORKSPACE")).toBe(false);
});

test("lets the owner of a model delete it", () => {
  const { may } = parse("EditorRestricted", [WORKSPACE]);
  expect(may("DELETE_OTHER_USER_MODEL_REGISTRY", WORKSPACE, ME)).toBe(true);
  expect(may("DELETE_OTHER_USER_MODEL_REGISTRY", WORKSPACE, OTHER)).toBe(false);
});

test("decides by ownership in the mode without roles", () => {
  const everyone = parse("Editor", undefined, true);
  expect(everyone.may("UPDATE_EXPERIMENT", WORKSPACE, OTHER)).toBe(true);
  expect(everyone.may("DELETE_EXPERIMENT", WORKSPACE, ME)).toBe(true);
  expect(everyone.may("DELETE_EXPERIMENT", WORKSPACE, OTHER)).toBe(false);
  expect(everyone.may("CREATE_PROJECT", WORKSPACE)).toBe(true);
  expect(everyone.may("UPDATE_PROJECT", WORKSPACE, OTHER)).toBe(false);
  expect(everyone.mayAnywhere("CREATE_TOKEN")).toBe(false);
  const owner = parse("WorkspaceAdmin", [WORKSPACE], true);
  expect(owner.may("UPDATE_PROJECT", WORKSPACE, OTHER)).toBe(true);
  expect(owner.may("DELETE_EXPERIMENT", WORKSPACE, OTHER)).toBe(false);
  const admin = parse("ClusterAdmin", undefined, true);
  expect(admin.may("DELETE_EXPERIMENT", WORKSPACE, OTHER)).toBe(true);
});

test("names the missing permission and its workspace", () => {
  const permissions = parse("Editor", [WORKSPACE]);
  const vision = { workspaceId: 8, workspaceName: "vision" };
  expect(explainRefusal(permissions, "UPDATE_EXPERIMENT", { workspaceId: WORKSPACE })).toBe(false);
  expect(explainRefusal(permissions, "UPDATE_EXPERIMENT")).toBe(false);
  expect(explainRefusal(permissions, "UPDATE_EXPERIMENT", vision)).toMatch(
    /^Requires the permission "update experiment" in workspace vision;/,
  );
  expect(explainRefusal(permissions, "UPDATE_WORKSPACE")).toMatch(/in a workspace; ask/);
  expect(explainClusterRefusal(permissions, "SET_RESOURCE_QUOTAS")).toMatch(
    /"set resource quotas"/,
  );
  expect(explainRefusal(parse("Editor", undefined, true), "UPDATE_WORKSPACE", vision)).toMatch(
    /^Only owners and administrators/,
  );
});
