import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/group.json";
import groupRoles from "@goldens/groupRoles.json";
import allRoles from "@goldens/roles.json";
import users from "@goldens/users.json";
import type { Message, User } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { findRole, holding, showPage, viewer } from "@/testing/pages";
import Group, { parseGroupRoles } from "./Group";

const user = (id: number, username: string) =>
  copyGolden<User>(users.answer.users[0], { id, username, active: true });
const put = "PUT /api/v1/groups/1";
const show = (at = "", more = {}) =>
  showPage(Group, "/admin/groups/:id", `/admin/groups/1${at}`, {
    "GET /api/v1/groups/1": {
      group: copyGolden<Message["GroupDetails"]>(golden.answer.group, {
        users: [user(2, "bob"), user(1, "ann")],
      }),
    },
    "GET /api/v1/roles/search/by-group/1": groupRoles.answer,
    "POST /api/v1/roles/search": allRoles.answer,
    "GET /api/v1/users": { users: [user(1, "ann"), user(2, "bob"), user(3, "cy")] },
    [put]: golden.answer,
    ...more,
  });

test("lists roles in the cluster and in workspaces", () => {
  const [role] = groupRoles.answer.roles;
  const [held] = groupRoles.answer.assignments;
  const assignment = copyGolden<Message["RoleAssignmentSummary"]>(held, {
    scopeCluster: true,
    scopeWorkspaceIds: [7, 8],
  });
  const found = parseGroupRoles({ roles: [role as Message["Role"]], assignments: [assignment] });
  const viewerIn = (workspaceId: number | undefined) => ({
    role: "Viewer",
    roleId: 4,
    workspaceId,
  });
  expect(found).toEqual([viewerIn(undefined), viewerIn(7), viewerIn(8)]);
});

test("adds and removes members", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const page = show();
  await userEvent.click(await screen.findByRole("button", { name: "Add members" }));
  await userEvent.click(await screen.findByLabelText("cy"));
  expect(within(screen.getByRole("dialog")).queryByLabelText("bob")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  await vi.waitFor(() => expect(page.getBody(put)).toEqual({ groupId: 1, addUsers: [3] }));
  await vi.waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  page.calls.length = 0;
  const row = screen.getByRole("row", { name: /^ann/ });
  await userEvent.click(within(row).getByRole("button", { name: "Remove" }));
  await vi.waitFor(() => expect(page.getBody(put)).toEqual({ groupId: 1, removeUsers: [1] }));
  expect(confirm.mock.calls[0]?.[0]).toMatch(/^Remove ann from researchers\?/);
});

test("renames the group", async () => {
  const page = show("?do=rename");
  await userEvent.type(await screen.findByLabelText("Name"), "-2");
  const dialog = within(screen.getByRole("dialog"));
  await userEvent.click(dialog.getByRole("button", { name: "Rename" }));
  await vi.waitFor(() => expect(page.getBody(put)).toEqual({ groupId: 1, name: "researchers-2" }));
});

test("deletes the group after a confirmation that names what is lost", async () => {
  const confirm = vi.spyOn(window, "confirm").mockReturnValue(true);
  const page = show("", { "DELETE /api/v1/groups/1": {} });
  await userEvent.click(await screen.findByRole("button", { name: "Delete" }));
  expect(confirm.mock.calls[0]?.[0]).toMatch(/2 members lose the access/);
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/admin/groups"));
});

test("lets a workspace admin assign the group's roles in the workspace only", async () => {
  const add = "POST /api/v1/roles/add-assignments";
  const page = show("", { ...holding(findRole("WorkspaceAdmin"), 7), [add]: {} });
  await userEvent.click(await screen.findByRole("button", { name: "Assign role" }));
  const scope = await screen.findByLabelText("Scope");
  expect(within(scope).getAllByRole("option")).toHaveLength(1);
  await userEvent.click(screen.getByRole("button", { name: "Assign" }));
  const roleAssignment = { role: { roleId: 5 }, scopeWorkspaceId: 7 };
  await vi.waitFor(() =>
    expect(page.getBody(add)).toEqual({ groupRoleAssignments: [{ groupId: 1, roleAssignment }] }),
  );
  expect(screen.queryByRole("button", { name: "Rename" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Add members" })).toBeNull();
});

test("shows members and roles without actions to a member", async () => {
  show("?do=rename", viewer);
  await screen.findByRole("row", { name: /^bob/ });
  await screen.findByRole("row", { name: /^Viewer/ });
  expect(
    screen
      .getAllByRole("button")
      .map(({ title }) => title)
      .filter(Boolean),
  ).toEqual(["Copy 1"]);
  expect(screen.queryByRole("dialog")).toBeNull();
});
