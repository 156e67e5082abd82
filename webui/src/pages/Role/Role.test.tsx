import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import groups from "@goldens/groups.json";
import golden from "@goldens/role.json";
import allRoles from "@goldens/roles.json";
import users from "@goldens/users.json";
import type { Message, User } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { findRole, showPage, viewer } from "@/testing/pages";
import Role from "./Role";

const [ofGroup, ofUser] = golden.answer.roles;
const show = (name: string, isAssigned: boolean, more = {}, at = "") => {
  const role = findRole(name);
  const id = role.roleId ?? 0;
  return showPage(Role, "/admin/roles/:id", `/admin/roles/${id}${at}`, {
    "POST /api/v1/roles/search/by-ids": {
      roles: [
        copyGolden<Message["RoleWithAssignments"]>(ofGroup, {
          role,
          groupRoleAssignments: isAssigned ? ofGroup?.groupRoleAssignments : [],
          userRoleAssignments: isAssigned ? ofUser?.userRoleAssignments : [],
        }),
      ],
    },
    "POST /api/v1/roles/search": allRoles.answer,
    "POST /api/v1/groups/search": groups.answer,
    "GET /api/v1/users": {
      users: [copyGolden<User>(users.answer.users[0], { id: 3, username: "bob" })],
    },
    ...more,
  });
};

test("shows the permissions of a role and who has it", async () => {
  show("Viewer", true);
  const permissions = await screen.findByRole("table", { name: "Permissions of Viewer" });
  expect(
    within(permissions).getByRole("row", { name: /^view workspace cluster or/ }),
  ).toBeVisible();
  expect(await screen.findByRole("link", { name: "group researchers" })).toHaveAttribute(
    "href",
    "/admin/groups/1",
  );
  expect(await screen.findByRole("link", { name: "bob" })).toHaveAttribute(
    "href",
    "/admin/users/3",
  );
});

test("offers only a copy of a built-in role", async () => {
  const page = show("Viewer", false);
  await userEvent.click(await screen.findByRole("button", { name: "Copy" }));
  expect(screen.queryByRole("button", { name: "Edit" })).toBeNull();
  await vi.waitFor(() => expect(page.router.state.location.search).toBe("?do=create&from=4"));
});

test("edits a created role", async () => {
  const put = "PUT /api/v1/roles/100";
  const page = show("Auditor", false, { [put]: {} }, "?do=edit");
  await userEvent.type(await screen.findByLabelText("Name"), "s");
  await userEvent.click(screen.getByLabelText("view project"));
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() =>
    expect(page.getBody(put)).toEqual({
      name: "Auditors",
      permissions: [
        { id: "PERMISSION_TYPE_VIEW_EXPERIMENT_METADATA" },
        { id: "PERMISSION_TYPE_VIEW_WORKSPACE" },
      ],
    }),
  );
});

test("deletes a created role unless it is assigned", async () => {
  vi.spyOn(window, "confirm").mockReturnValue(true);
  const page = show("Auditor", false, { "DELETE /api/v1/roles/100": {} });
  await userEvent.click(await screen.findByRole("button", { name: "Delete" }));
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/admin/roles"));
});

test("explains why an assigned role cannot be deleted", async () => {
  show("Auditor", true);
  const button = await screen.findByRole("button", { name: "Delete" });
  expect(button).toHaveAttribute("aria-disabled", "true");
  expect(button.title).toMatch(/is assigned/);
});

test("hides assignments and actions from users who may not assign roles", async () => {
  show("Auditor", false, viewer, "?do=edit");
  await screen.findByRole("table", { name: "Permissions of Auditor" });
  expect(screen.queryByText("Assigned to")).toBeNull();
  expect(screen.queryByRole("button", { name: "Copy" })).toBeNull();
  expect(screen.queryByRole("dialog")).toBeNull();
});
