import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import given from "@goldens/members.json";
import pools from "@goldens/pools.json";
import projects from "@goldens/projects.json";
import limits from "@goldens/quotas.json";
import groups from "@goldens/groups.json";
import roles from "@goldens/roles.json";
import users from "@goldens/users.json";
import golden from "@goldens/workspace.json";
import usable from "@goldens/workspacePools.json";
import type { Message, User } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { basicMode, findRole, holding, showPage, viewer } from "@/testing/pages";
import { parseMembers } from "./Members";
import Workspace from "./Workspace";

const [user] = given.answer.usersAssignedDirectly;
const assigned = given.answer.assignments.find((each) => each.userRoleAssignments.length > 0);
const ofGroup = given.answer.assignments.find((each) => each.groupRoleAssignments.length > 0);
const holds = (name: string, userId: number) =>
  copyGolden<Message["RoleWithAssignments"]>(assigned, {
    role: findRole(name),
    userRoleAssignments: [
      copyGolden<Message["UserRoleAssignment"]>(assigned?.userRoleAssignments[0], { userId }),
    ],
  });
const members = copyGolden<Message["GetGroupsAndUsersAssignedToWorkspaceResponse"]>(given.answer, {
  usersAssignedDirectly: [
    copyGolden<User>(user, { id: 2, username: "bob", displayName: "" }),
    copyGolden<User>(user, { id: 1, username: "ann", displayName: "Ann" }),
  ],
  assignments: [
    holds("Editor", 2),
    holds("WorkspaceAdmin", 1),
    copyGolden<Message["RoleWithAssignments"]>(ofGroup, { role: findRole("Viewer") }),
  ],
});
const pool = (name: string, workspaces: string[]) =>
  copyGolden<Message["ResourcePool"]>(pools.answer.resourcePools[0], { name, workspaces });
const [quota] = limits.answer.quotas;
const answers = {
  "GET /api/v1/workspaces/7": {
    workspace: copyGolden<Message["Workspace"]>(golden.answer.workspace, { id: 7 }),
  },
  "GET /api/v1/workspaces/7/projects": {
    projects: [
      copyGolden<Message["Project"]>(projects.answer.projects[0], { id: 3, numExperiments: 4 }),
    ],
  },
  "GET /api/v1/roles/workspace/7": members,
  "POST /api/v1/roles/search": roles.answer,
  "POST /api/v1/groups/search": groups.answer,
  "GET /api/v1/workspaces/7/available-resource-pools": copyGolden<object>(usable.answer, {
    resourcePools: ["gpu"],
  }),
  "GET /api/v1/resource-pools": {
    resourcePools: [pool("gpu", ["vision"]), pool("other", [])],
  },
  "GET /api/v1/quotas": {
    quotas: [
      copyGolden<Message["Quota"]>(quota, { scope: "user", maxSlots: 1 }),
      copyGolden<Message["Quota"]>(quota, {
        slotHours: 100,
        slotHoursUsed: 25,
        slotsUsed: 0,
        maxSlots: undefined,
      }),
    ],
  },
};
const show = (at: string, more = {}) =>
  showPage(Workspace, "/workspaces/:id/:tab?", `/workspaces/7${at}`, { ...answers, ...more });

test("links projects to their experiments", async () => {
  show("");
  expect(await screen.findByRole("link", { name: "nets" })).toHaveAttribute("href", "/projects/3");
  expect(screen.getByRole("link", { name: "4" })).toHaveAttribute("href", "/experiments?project=3");
});

test("lists groups and users with their roles", () => {
  expect(parseMembers(members)).toEqual([
    { holder: { groupId: 1 }, name: "researchers", size: 1, roleId: 4, role: "Viewer" },
    { holder: { userId: 1 }, name: "Ann (ann)", roleId: 2, role: "WorkspaceAdmin" },
    { holder: { userId: 2 }, name: "bob", roleId: 5, role: "Editor" },
  ]);
});

test("revokes a role after a confirmation", async () => {
  vi.spyOn(window, "confirm").mockReturnValue(true);
  const post = "POST /api/v1/roles/remove-assignments";
  const page = show("/members", { [post]: {} });
  const [, , last] = await screen.findAllByRole("button", { name: "Remove" });
  if (last) await userEvent.click(last);
  const roleAssignment = { role: { roleId: 5 }, scopeWorkspaceId: 7 };
  await vi.waitFor(() =>
    expect(page.getBody(post)).toEqual({ userRoleAssignments: [{ userId: 2, roleAssignment }] }),
  );
});

test("shows the workspace's quota and pools", async () => {
  show("/pools");
  expect(await screen.findByText(/25 of 100/)).toBeVisible();
  expect(screen.getByText(/0 \(no limit\)/)).toBeVisible();
  expect(screen.getByText("gpu")).toBeVisible();
  expect(screen.queryByText("other")).toBeNull();
});

test("lets a viewer pin the workspace and explains disabled actions", async () => {
  show("", viewer);
  const button = await screen.findByRole("button", { name: "New project" });
  expect(button.title).toContain(`"create project" in workspace vision`);
  expect(screen.getByRole("button", { name: "Pin" })).toBeEnabled();
  expect(screen.queryByRole("button", { name: "Delete" })).toBeNull();
});

test("sends only changed fields", async () => {
  const patch = "PATCH /api/v1/workspaces/7";
  const page = showPage(Workspace, "/workspaces/:id", "/workspaces/7?do=edit", {
    ...answers,
    [patch]: {},
  });
  const pool = await screen.findByLabelText("Default pool");
  await userEvent.clear(pool);
  await userEvent.type(pool, "gpu");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() => expect(page.getBody(patch)).toEqual({ defaultComputePool: "gpu" }));
});

test("replaces a member's role", async () => {
  const add = "POST /api/v1/roles/add-assignments";
  const remove = "POST /api/v1/roles/remove-assignments";
  const page = show("/members", { [add]: {}, [remove]: {} });
  const [, , last] = await screen.findAllByRole("button", { name: "Change role" });
  await userEvent.click(last as HTMLElement);
  await userEvent.selectOptions(await screen.findByLabelText("Role"), "4");
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Change" }));
  const given = (roleId: number) => ({
    userRoleAssignments: [{ userId: 2, roleAssignment: { role: { roleId }, scopeWorkspaceId: 7 } }],
  });
  await vi.waitFor(() => expect(page.getBody(remove)).toEqual(given(5)));
  expect(page.getBody(add)).toEqual(given(4));
});

test("assigns a role to a group", async () => {
  const add = "POST /api/v1/roles/add-assignments";
  const page = show("/members?do=member", { [add]: {}, "GET /api/v1/users": users.answer });
  const choice = await screen.findByLabelText("User or group");
  await userEvent.selectOptions(choice, "group researchers");
  const role = screen.getByLabelText("Role");
  expect(role).toHaveDisplayValue(/^Editor: /);
  await userEvent.selectOptions(role, "EditorRestricted");
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  const roleAssignment = { role: { roleId: 7 }, scopeWorkspaceId: 7 };
  await vi.waitFor(() =>
    expect(page.getBody(add)).toEqual({ groupRoleAssignments: [{ groupId: 1, roleAssignment }] }),
  );
});

test("offers a workspace admin only roles that the workspace admin may assign", async () => {
  const admin = holding(findRole("WorkspaceAdmin"), 7);
  show("/members?do=member", { ...admin, "GET /api/v1/users": users.answer });
  const role = await screen.findByLabelText("Role");
  expect(within(role).getByRole("option", { name: /^WorkspaceAdmin/ })).toBeInTheDocument();
  expect(within(role).queryByRole("option", { name: /^ClusterAdmin/ })).toBeNull();
});

test("explains that roles have no effect in the mode without roles", async () => {
  show("/members", basicMode);
  expect(await screen.findByText(/ownership decides/)).toBeVisible();
  expect(screen.queryByRole("button", { name: "Add member" })).toBeNull();
});

const policies = "/api/v1/config-policies/workspaces/7/EXPERIMENT";

test("shows policies and saves valid ones", async () => {
  const configPolicies = { constraints: { priority_limit: 40 } };
  const put = `PUT ${policies}`;
  const refused = new Error("constraints.x: unknown\nconstraints.y: unknown");
  const page = show("/policies", { [`GET ${policies}`]: { configPolicies }, [put]: refused });
  const editor = await screen.findByLabelText("Policies of vision (YAML)");
  expect(editor).toHaveValue("constraints:\n  priority_limit: 40\n");
  const save = screen.getByRole("button", { name: "Save" });
  expect(save).toHaveAttribute("aria-disabled", "true");
  await userEvent.type(editor, "a: {{");
  expect(save).toHaveAttribute("title", "Invalid YAML");
  await userEvent.clear(editor);
  await userEvent.type(editor, "x: 1");
  await userEvent.click(save);
  expect(await screen.findByText(/constraints.y: unknown/)).toBeVisible();
  expect(editor).toHaveAttribute("aria-invalid", "true");
  expect(page.getBody(put)).toEqual({ configPolicies: "x: 1" });
  await userEvent.type(editor, "2");
  expect(screen.queryByText(/constraints.y/)).toBeNull();
});

test("lets a workspace admin delete policies after a confirmation", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const configPolicies = { constraints: { priority_limit: 40 } };
  const remove = `DELETE ${policies}`;
  const page = show("/policies", { [`GET ${policies}`]: { configPolicies }, [remove]: {} });
  await userEvent.click(
    await within(await screen.findByRole("region", { name: /Policies/ })).findByRole("button", {
      name: "Delete",
    }),
  );
  await vi.waitFor(() => expect(page.calls.map(({ what }) => what)).toContain(remove));
  expect(confirm.mock.calls[0]?.[0]).toMatch(/^Delete the policies of vision\?/);
});

test("shows a viewer that there are no policies", async () => {
  show("/policies", { ...viewer, [`GET ${policies}`]: { configPolicies: {} } });
  expect(await screen.findByText("No policies.")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
});
