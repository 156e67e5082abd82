import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import groups from "@goldens/groups.json";
import allRoles from "@goldens/roles.json";
import golden from "@goldens/user.json";
import held from "@goldens/userRoles.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { basicMode, findRole, showPage, viewer } from "@/testing/pages";
import User from "./User";
import { parseHeldRoles } from "./UserRoles";

const editor = held.answer.roles.find((each) => each.userRoleAssignments.length > 0);
const viaGroup = held.answer.roles.find((each) => each.groupRoleAssignments.length > 0);
const [given] = editor?.userRoleAssignments ?? [];
const holds = (name: string, scope: Message["RoleAssignment"]) =>
  copyGolden<Message["RoleWithAssignments"]>(editor, {
    role: findRole(name),
    userRoleAssignments: [
      copyGolden<Message["UserRoleAssignment"]>(given, {
        userId: 2,
        roleAssignment: { ...given?.roleAssignment, ...scope },
      }),
    ],
  });
const roles = [
  // The API sends no workspace for a cluster role.
  holds("ClusterAdmin", { scopeWorkspaceId: undefined, scopeCluster: true }),
  holds("Editor", { scopeWorkspaceId: 7 }),
];
const toAnswers = (id: number, more = {}) => ({
  [`GET /api/v1/users/${id}`]: {
    user: copyGolden<Message["User"]>(golden.answer.user, { id, ...more }),
  },
  [`GET /api/v1/roles/search/by-user/${id}`]: { roles },
  "POST /api/v1/groups/search": groups.answer,
  "POST /api/v1/roles/search": allRoles.answer,
});

test("shows a role without a workspace as a cluster role", () => {
  expect(parseHeldRoles({ roles })).toEqual([
    { role: "ClusterAdmin", roleId: 1, workspaceId: undefined },
    { role: "Editor", roleId: 5, workspaceId: 7 },
  ]);
});

test("sends a password only if both inputs are equal", async () => {
  const patch = "PATCH /api/v1/users/2";
  const page = showPage(User, "/admin/users/:id", "/admin/users/2?do=password", {
    ...toAnswers(2),
    [patch]: {},
  });
  await userEvent.type(await screen.findByLabelText("New password"), "Secret123");
  await userEvent.type(screen.getByLabelText("Confirm password"), "Secret12");
  await userEvent.click(screen.getByRole("button", { name: "Change" }));
  expect(await screen.findByText(/do not match/)).toBeInTheDocument();
  expect(page.getBody(patch)).toBeUndefined();
  await userEvent.type(screen.getByLabelText("Confirm password"), "3");
  await userEvent.click(screen.getByRole("button", { name: "Change" }));
  await vi.waitFor(() => expect(page.getBody(patch)).toEqual({ password: "Secret123" }));
});

test("prevents an admin from deactivating themselves", async () => {
  showPage(User, "/admin/users/:id", "/admin/users/1", toAnswers(1, { admin: true }));
  const button = await screen.findByRole("button", { name: "Deactivate" });
  await vi.waitFor(() => expect(button).toHaveAttribute("aria-disabled", "true"));
});

test("hides roles and actions of other users", async () => {
  const page = showPage(User, "/admin/users/:id", "/admin/users/2?do=edit", {
    ...toAnswers(2),
    ...viewer,
  });
  await screen.findByText(/roles of other users/);
  expect(screen.getAllByRole("button").map(({ title }) => title)).toEqual(["Copy 2"]);
  expect(page.calls.some(({ what }) => what.includes("by-user"))).toBe(false);
});

test("sends only the changed name", async () => {
  const patch = "PATCH /api/v1/users/2";
  const page = showPage(User, "/admin/users/:id", "/admin/users/2?do=edit", {
    ...toAnswers(2, { displayName: "Bob", username: "bob" }),
    [patch]: {},
  });
  await userEvent.type(await screen.findByLabelText("Username"), "by");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() => expect(page.getBody(patch)).toEqual({ username: "bobby" }));
});

test("replaces a role and assigns the new one first", async () => {
  const add = "POST /api/v1/roles/add-assignments";
  const remove = "POST /api/v1/roles/remove-assignments";
  const page = showPage(User, "/admin/users/:id", "/admin/users/2", {
    ...toAnswers(2),
    [add]: {},
    [remove]: {},
  });
  const row = await screen.findByRole("row", { name: /Editor vision/ });
  await userEvent.click(await within(row).findByRole("button", { name: "Change role" }));
  await userEvent.selectOptions(await screen.findByLabelText("Role"), "Viewer");
  // ClusterAdmin is a cluster role only.
  expect(screen.queryByRole("option", { name: "ClusterAdmin" })).toBeNull();
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Change" }));
  const given = (roleId: number) => ({
    userRoleAssignments: [{ userId: 2, roleAssignment: { role: { roleId }, scopeWorkspaceId: 7 } }],
  });
  await vi.waitFor(() => expect(page.getBody(remove)).toEqual(given(5)));
  expect(page.getBody(add)).toEqual(given(4));
  const posts = page.calls.map(({ what }) => what).filter((what) => what.endsWith("-assignments"));
  expect(posts).toEqual([add, remove]);
});

test("shows through which group a user has a role", async () => {
  showPage(User, "/admin/users/:id", "/admin/users/2", {
    ...toAnswers(2),
    "GET /api/v1/roles/search/by-user/2": { roles: [...roles, viaGroup] },
  });
  const row = await screen.findByRole("row", { name: /^Viewer .* group researchers/ });
  expect(within(row).getByRole("link", { name: "group researchers" })).toHaveAttribute(
    "href",
    "/admin/groups/1",
  );
  expect(within(row).queryByRole("button")).toBeNull();
  expect(screen.getByRole("link", { name: "researchers" })).toBeVisible();
});

test("offers roles by their scope when one is assigned", async () => {
  const add = "POST /api/v1/roles/add-assignments";
  const page = showPage(User, "/admin/users/:id", "/admin/users/2?do=role", {
    ...toAnswers(2),
    [add]: {},
  });
  const role = await screen.findByLabelText("Role");
  await userEvent.selectOptions(role, "ClusterAdmin");
  await userEvent.selectOptions(screen.getByLabelText("Scope"), "vision");
  expect(within(role).queryByRole("option", { name: "ClusterAdmin" })).toBeNull();
  await userEvent.selectOptions(role, "EditorRestricted");
  await userEvent.click(screen.getByRole("button", { name: "Assign" }));
  const roleAssignment = { role: { roleId: 7 }, scopeWorkspaceId: 7 };
  await vi.waitFor(() =>
    expect(page.getBody(add)).toEqual({ userRoleAssignments: [{ userId: 2, roleAssignment }] }),
  );
});

test("explains that roles have no effect in the mode without roles", async () => {
  showPage(User, "/admin/users/:id", "/admin/users/2", { ...toAnswers(2), ...basicMode });
  expect(await screen.findByText(/ownership decides/)).toBeVisible();
  expect(screen.queryByRole("table")).toBeNull();
});
