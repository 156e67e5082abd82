// Users, access tokens, templates and webhooks: create and change them, and find the audit records.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

await inBrowser(async (page, watch) => {
  const { button, fillDialog, send, acceptPrompt, expectAudited } = makeHelpers(page);
  await page.goto(url);
  await signIn(page, "admin", process.env.PASSWORD);
  await page.getByRole("link", { name: "Admin" }).click();
  await page.getByRole("table", { name: "Users" }).getByRole("link", { name: "admin" }).waitFor();
  await inspect(page, "users");
  await fillDialog(
    "New user",
    "",
    { Username: "ann", "Display name": "Ann", Password: "Secret456" },
    "Create",
  );
  await page.getByRole("row", { name: /Editor Uncategorized/ }).waitFor();
  await inspect(page, "user");
  acceptPrompt();
  await button("Deactivate").click();
  await button("Activate").waitFor();

  const tabs = page.getByRole("navigation", { name: "Administration" });
  await tabs.getByRole("link", { name: "Access tokens" }).click();
  await fillDialog("New token", "token-new", { Description: "nightly" }, "Create");
  const made = page.getByRole("status", { name: "New token" });
  const token = await made.locator("code").first().innerText();
  const asks = () => fetch(`${url}/api/v1/me`, { headers: { Authorization: `Bearer ${token}` } });
  assert.equal((await asks()).status, 200);
  await inspect(page, "tokens");
  await made.getByRole("button", { name: "Done" }).click();
  await made.waitFor({ state: "detached" });
  acceptPrompt();
  await page
    .getByRole("row", { name: /nightly/ })
    .getByRole("button", { name: "Revoke" })
    .click();
  await page.getByRole("row", { name: /nightly/ }).waitFor({ state: "detached" });
  assert.equal((await asks()).status, 401, "a revoked token is accepted");
  assert.ok(!(await page.content()).includes(token), "the page still contains the token");

  watch.expected.push(/400/); // the editor validates invalid text, too
  await tabs.getByRole("link", { name: "Templates" }).click();
  await fillDialog("New template", "", { Name: "small" }, "Create");
  const editor = page.getByLabel("Template (YAML)");
  await editor.fill("resources:\n  slots_per_trial: two\n");
  await page.getByText(/slots_per_trial: expected/).waitFor();
  await inspect(page, "template-bad");
  await editor.fill("resources:\n  slots_per_trial: 2\nmax_restarts: 1\n");
  await page.getByText("Template is valid.").waitFor();
  await button("Save").click();
  await button("Save").and(page.locator('[aria-disabled="true"]')).waitFor();
  await inspect(page, "template");
  await tabs.getByRole("link", { name: "Templates" }).click();
  await page.getByRole("row", { name: /small.*max_restarts/ }).waitFor();
  await inspect(page, "templates");

  await tabs.getByRole("link", { name: "Webhooks" }).click();
  const hook = {
    Name: "best",
    URL: "http://127.0.0.1:9/hook?key=secret",
    Trigger: "Metric threshold",
    Metric: "accuracy",
    Value: "0.95",
  };
  await fillDialog("New webhook", "webhook-new", hook, "Create");
  await page.getByText("validation accuracy > 0.95").waitFor();
  await button("Edit").click();
  await button("Add trigger").click();
  const second = page.getByRole("group", { name: "Trigger 2" });
  await second.getByLabel("Trigger").selectOption("Log line match");
  await second.getByLabel("Regular expression").fill("out of memory");
  await inspect(page, "webhook-edit");
  await send("Save");
  await page.getByText("log line matches out of memory").waitFor();
  await button("Test").click(); // the URL is inside the cluster's network
  const refusal = page.getByRole("alert");
  await refusal.waitFor();
  await refusal.getByText("Details").click();
  assert.match(await refusal.innerText(), /127\.0\.0\.1[^]*Request ID [0-9a-f-]{36}/);
  await inspect(page, "webhook");
  await tabs.getByRole("link", { name: "Webhooks" }).click();
  await page.getByRole("link", { name: "best" }).waitFor();
  assert.ok(!(await page.content()).includes("key=secret"), "the list shows a secret");
  await inspect(page, "webhooks");

  await tabs.getByRole("link", { name: "Audit" }).click();
  await expectAudited([
    "UserService.PostUser",
    "TokenService.PostAccessToken",
    "TokenService.PatchAccessToken",
    "TemplateService.PutTemplate",
    "WebhookService.PostWebhook",
    "WebhookService.TestWebhook",
  ]);
  assert.match(page.url(), /method=WebhookService.TestWebhook/);
  await button("Clear filters").click();
  await page.getByRole("row", { name: /PostUser/ }).waitFor();
  await inspect(page, "audit");
  await page.setViewportSize({ width: 390, height: 800 });
  await inspect(page, "audit-narrow");
  await page.setViewportSize({ width: 1280, height: 800 });

  // A user with fewer permissions sees fewer actions.
  await page.locator("summary", { hasText: "Signed in as admin" }).click();
  await button("Sign out").click();
  await signIn(page, "determined", process.env.PASSWORD);
  await page.locator("summary", { hasText: "Signed in as determined" }).waitFor();
  await page.goto(`${url}/admin/users`);
  await page.getByRole("table", { name: "Users" }).getByRole("link", { name: "admin" }).waitFor();
  await tabs.getByRole("link", { name: "Webhooks" }).waitFor(); // the permissions are loaded
  assert.equal(await button("New user").count(), 0);
  assert.equal(await tabs.getByRole("link", { name: "Audit" }).count(), 0);
});
