import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import roles from "@goldens/roles.json";
import { basicMode, showPage, viewer } from "@/testing/pages";
import Roles from "./Roles";

const post = "POST /api/v1/roles";
const show = (at = "", more = {}) =>
  showPage(Roles, "/admin/roles", `/admin/roles${at}`, {
    "POST /api/v1/roles/search": roles.answer,
    ...more,
  });

test("lists built-in and created roles", async () => {
  show();
  expect(
    await screen.findByRole("row", { name: /^ClusterAdmin cluster only \d+ built in/ }),
  ).toBeVisible();
  expect(
    screen.getByRole("row", { name: /^EditorRestricted cluster or workspace 25/ }),
  ).toBeVisible();
  expect(screen.getByRole("row", { name: /^Auditor .* created$/ })).toBeVisible();
});

test("creates a role from permissions", async () => {
  const page = show("?do=create", { [post]: { role: { roleId: 101 } } });
  await userEvent.type(await screen.findByLabelText("Name"), "Curator");
  const create = within(screen.getByRole("dialog")).getByRole("button", { name: "Create" });
  await userEvent.click(create);
  expect(await screen.findByText(/at least one permission/)).toBeVisible();
  await userEvent.type(screen.getByLabelText("Filter permissions"), "edit model");
  expect(screen.queryByLabelText("create experiment")).toBeNull();
  await userEvent.click(screen.getByLabelText("edit model registry"));
  await userEvent.clear(screen.getByLabelText("Filter permissions"));
  await userEvent.click(screen.getByLabelText("create workspace (cluster only)"));
  await userEvent.click(create);
  await vi.waitFor(() =>
    expect(page.getBody(post)).toEqual({
      name: "Curator",
      permissions: [
        { id: "PERMISSION_TYPE_CREATE_WORKSPACE" },
        { id: "PERMISSION_TYPE_EDIT_MODEL_REGISTRY" },
      ],
    }),
  );
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/admin/roles/101"));
});

test("starts with the permissions of another role", async () => {
  show("?do=create&from=4");
  expect(await screen.findByRole("heading", { name: "New role from Viewer" })).toBeVisible();
  expect(screen.getByLabelText("view workspace")).toBeChecked();
  expect(screen.getByLabelText("create experiment")).not.toBeChecked();
});

test("hides creation from users who may not change roles", async () => {
  show("?do=create", viewer);
  await screen.findByRole("row", { name: /^Viewer/ });
  expect(screen.queryByRole("button", { name: "New role" })).toBeNull();
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("explains that roles have no effect in the mode without roles", async () => {
  show("", basicMode);
  expect(await screen.findByText(/ownership decides/)).toBeVisible();
});
