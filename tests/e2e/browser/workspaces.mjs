// Workspaces, projects and models: create and change them, and find the audit records.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

await inBrowser(async (page) => {
  const { button, head, fillDialog, download, switchTo, expectAudited } = makeHelpers(page);
  await page.goto(`${url}/workspaces`);
  await signIn(page, "admin", process.env.PASSWORD);
  await page.getByRole("table", { name: "Workspaces" }).getByRole("link").first().waitFor();

  await fillDialog("New workspace", "workspace-new", { Name: "vision" }, "Create");
  await head("vision").waitFor();
  await fillDialog("New project", "", { Name: "nets", Description: "What sees" }, "Create");
  await head("nets").waitFor();
  await fillDialog("Add note", "", { Title: "Plan", Text: "# Try\n\n1. **wide** nets" }, "Save");
  await page.getByRole("heading", { name: "Try" }).waitFor();
  await inspect(page, "project");
  await page
    .getByRole("navigation", { name: "Breadcrumb" })
    .getByRole("link", { name: "vision" })
    .click();
  await page.getByRole("link", { name: "nets" }).waitFor();
  await inspect(page, "workspace");
  await page.getByRole("link", { name: "Members" }).click();
  await fillDialog(
    "Add member",
    "",
    { "User or group": "determined", Role: "Viewer: can read" },
    "Add",
  );
  await page.getByRole("row", { name: /determined Viewer/ }).waitFor();
  await inspect(page, "workspace-members");
  await page.getByRole("link", { name: "Pools and quota" }).click();
  const limits = { "Max slots": "8", "Slot-hours per month": "100" };
  await fillDialog("Set quota", "", limits, "Save");
  await page.getByText("0 of 100").waitFor();
  await inspect(page, "workspace-pools");
  await page.getByRole("link", { name: "Workspaces" }).first().click();
  await page.getByRole("link", { name: "vision" }).waitFor();
  await inspect(page, "workspaces");

  await page.goto(`${url}/models`);
  await page.getByText("No models yet.").waitFor();
  await inspect(page, "models-none");
  const model = { Name: "classifier", Description: "Says what is on a picture", Labels: "a, b" };
  await fillDialog("New model", "", model, "Create");
  await head("classifier").waitFor();
  const version = { Checkpoint: process.env.CHECKPOINT, Comment: "the first", Labels: "good" };
  await fillDialog("Register version", "model-register", version, "Register");
  await page.getByRole("row", { name: /the first/ }).waitFor();
  await inspect(page, "model");
  await page
    .getByRole("row", { name: /the first/ })
    .getByRole("link", { name: "1", exact: true })
    .click();
  await page.getByText(`det checkpoint download ${process.env.CHECKPOINT}`).waitFor();
  await page.getByRole("link", { name: /^trial \d+/ }).waitFor();
  await inspect(page, "model-version");
  // The checkpoint downloads as one archive that tar can read.
  const uuid = process.env.CHECKPOINT;
  const archive = await download(button("Download"));
  assert.equal(archive.name, `${uuid}.tar`);
  const unpacked = execFileSync("tar", ["-xO", `${uuid}/model.pt`], { input: archive.bytes });
  assert.deepEqual(unpacked, Buffer.alloc(1000));
  await page.goto(`${url}/models?q=classi`);
  await page.getByText("1 model", { exact: true }).waitFor();
  await inspect(page, "models");

  // The palette finds both by a few letters.
  const goTo = async (letters, option) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /^Page, experiment/ }).fill(letters);
    await page.getByRole("option", { name: option, selected: true }).waitFor();
    await page.keyboard.press("Enter");
  };
  await goTo("clsfr", "classifier model");
  await head("classifier").waitFor();
  await goTo("visi", "vision workspace");
  await head("vision").waitFor();

  await page.goto(`${url}/admin/audit`);
  await expectAudited([
    "WorkspaceService.PostWorkspace",
    "ProjectService.PostProject",
    "ResourcePoolService.PutQuota",
    "ModelService.PostModelVersion",
  ]);
  // The call, and the role that it assigned.
  await expectAudited(["RoleService.AssignRoles"], 2);

  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto(`${url}/workspaces`);
  await page.getByRole("link", { name: "vision" }).waitFor();
  await inspect(page, "workspaces-narrow");
  await page.setViewportSize({ width: 1280, height: 800 });

  // A user with fewer permissions sees fewer actions.
  await switchTo("determined", process.env.PASSWORD);
  await page.goto(`${url}/workspaces`);
  await page.getByRole("link", { name: "vision" }).click();
  await head("vision").waitFor();
  await button("New project").and(page.locator('[aria-disabled="true"]')).waitFor();
  assert.equal(await button("Delete").count(), 0);
  await inspect(page, "workspace-viewer");
});
