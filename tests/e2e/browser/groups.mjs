// Groups and roles: an administrator creates a group, adds a member and assigns a role in a workspace; the
// member then sees the workspace.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

await inBrowser(async (page) => {
  const { button, call, switchTo, field, head, send, fillDialog, acceptPrompt } = makeHelpers(page);
  const row = (name) => page.getByRole("row", { name });
  await page.goto(url);
  await signIn(page, "admin", process.env.PASSWORD);
  await page.locator("summary", { hasText: "Signed in as admin" }).waitFor();
  const { workspace } = await call("POST", "/api/v1/workspaces", { name: "speech" });
  await call("POST", "/api/v1/users", {
    user: { username: "eve", active: true },
    password: "Secret456",
  });

  const openTab = (name) =>
    page
      .getByRole("navigation", { name: "Administration" })
      .getByRole("link", { name, exact: true })
      .click();
  await page.getByRole("link", { name: "Admin" }).click();
  await openTab("Groups");
  await page.getByText("No groups yet.").waitFor();
  await inspect(page, "groups-none");
  await fillDialog("New group", "group-new", { Name: "listeners" }, "Create");
  await head("listeners").waitFor();
  await button("Add members").click();
  await field("eve").check();
  await send("Add");
  await row(/^eve/).waitFor();

  // A role that an administrator creates is as good as a built-in one.
  await openTab("Roles");
  await row(/^EditorRestricted .* built in$/).waitFor();
  await inspect(page, "roles");
  await button("New role").click();
  await field("Name").fill("Annotator");
  for (const name of [
    "view workspace",
    "view project",
    "view experiment metadata",
    "update experiment metadata",
  ])
    await field(name).check();
  await inspect(page, "role-new");
  await send("Create");
  await head("Annotator").waitFor();
  await page.getByText("Not assigned to any user or group.").waitFor();

  await openTab("Groups");
  await page.getByRole("link", { name: "listeners" }).click();
  await fillDialog("Assign role", "group-role", { Scope: "speech", Role: "Annotator" }, "Assign");
  await row(/^Annotator speech/).waitFor();
  await inspect(page, "group");
  await page.getByRole("link", { name: "Annotator" }).click();
  await row(/^group listeners speech/).waitFor();
  await button("Delete").and(page.locator('[aria-disabled="true"]')).waitFor();
  await inspect(page, "role");
  await page.goto(`${url}/workspaces/${workspace.id}/members`);
  await row(/^group listeners \(1 member\) Annotator/).waitFor();
  await inspect(page, "workspace-members-group");

  await switchTo("eve", "Secret456");
  await page.goto(`${url}/workspaces`);
  await page.getByRole("link", { name: "speech" }).click();
  await head("speech").waitFor();
  await button("New project").and(page.locator('[aria-disabled="true"]')).waitFor();
  assert.equal(await button("Edit").count(), 0);
  await page.goto(`${url}/admin/groups`);
  await page.getByRole("link", { name: "listeners" }).click();
  await row(/^eve/).waitFor();
  for (const name of ["Rename", "Delete", "Add members", "Assign role", "Remove"])
    assert.equal(await button(name).count(), 0, name);
  await inspect(page, "group-member");

  // Without the group, the workspace is gone.
  await switchTo("admin", process.env.PASSWORD);
  await page.goto(`${url}/admin/groups`);
  await page.getByRole("link", { name: "listeners" }).click();
  const asked = acceptPrompt();
  await button("Delete").click();
  assert.match(await asked, /^Delete the group listeners and its roles\? Its 1 member /);
  await page.getByText("No groups yet.").waitFor();
  await switchTo("eve", "Secret456");
  await page.goto(`${url}/workspaces`);
  await page.getByRole("link", { name: "Uncategorized" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "speech" }).count(), 0);
});
