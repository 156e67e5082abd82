// Tasks that are not trials: launch commands with a dialog, filter the list, see why one waits, kill one and several.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

await inBrowser(async (page, watch) => {
  const { button, field, send, acceptPrompt } = makeHelpers(page);
  const table = page.getByRole("table", { name: "Tasks" });
  const row = (name) => table.getByRole("row", { name });
  const count = (text) => page.getByRole("status").filter({ hasText: text }).waitFor();
  const nav = page.getByRole("navigation", { name: "Main navigation" });
  const dialog = page.getByRole("dialog");
  const launch = async (name, line, slots) => {
    await button("New command").click();
    await field("Name").fill(name);
    await field("Command line").fill(line);
    await field("Slots").fill(slots);
    await dialog.getByText("Configuration is valid.").waitFor();
    await send("Launch");
  };

  await page.goto(url);
  await signIn(page, "admin", process.env.PASSWORD);
  await nav.getByRole("link", { name: "Tasks" }).click();
  await page.getByText("det notebook start").waitFor();
  await inspect(page, "tasks-empty");

  // The master checks the configuration as the user types, also what only it knows.
  watch.expected.push(/400/);
  await button("New command").click();
  const editor = dialog.getByLabel("Configuration (YAML)");
  await editor.fill("colour: red");
  await dialog.getByText(/colour: unknown field/).waitFor();
  assert.equal(await dialog.getByRole("button", { name: "Launch" }).isDisabled(), true);
  await editor.fill("environment:\n  environment_variables: [WORD=hello]");
  await dialog.getByText("Configuration is valid.").waitFor();
  await dialog.getByText("Complete configuration").click();
  await dialog.getByText("WORD=hello").last().waitFor();
  await inspect(page, "tasks-new-command");
  await field("Name").fill("talks");
  await field("Command line").fill("echo $WORD from the task; sleep 600");
  await field("Slots").fill("0");
  await dialog.getByText("Configuration is valid.").waitFor();
  await send("Launch");

  // The log of the new task.
  await page.getByText("hello from the task").waitFor();
  await page.getByText("Running", { exact: true }).waitFor();
  await page
    .getByRole("navigation", { name: "Task sections" })
    .getByRole("link", { name: "Configuration" })
    .click();
  await page.getByLabel("Configuration").getByText("WORD=hello").first().waitFor();
  await nav.getByRole("link", { name: "Tasks" }).click();
  await row(/talks.*Command.*Running.*admin/).waitFor();

  // One task holds all slots, so the other one waits, and says why.
  await launch("holds", "sleep 600", "2");
  await page.getByText("Running", { exact: true }).waitFor();
  await nav.getByRole("link", { name: "Tasks" }).click();
  await launch("waits", "sleep 600", "2");
  await page.getByText("Queued", { exact: true }).waitFor();
  await nav.getByRole("link", { name: "Tasks" }).click();
  await row(/waits.*Queued.*slots/i).waitFor();
  await count(/^3 tasks$/);
  await inspect(page, "tasks");
  await row(/waits/).getByRole("link", { name: "waits", exact: true }).click();
  await page.getByRole("region", { name: "Why it waits" }).waitFor();
  await inspect(page, "task-waiting");

  // The address keeps the filter.
  await page.goto(`${url}/tasks`);
  await page.getByLabel("State", { exact: true }).selectOption("Queued");
  await count(/^1 task$/);
  await page.reload();
  await row(/waits/).waitFor();
  await count(/^1 task$/);
  await page.getByLabel("Kind", { exact: true }).selectOption("Notebook");
  await page.getByText("No tasks match the filter.").waitFor();

  // Kill one task, and then all that are left. The table follows without a reload.
  await page.goto(`${url}/tasks`);
  const [question] = await Promise.all([
    acceptPrompt(),
    row(/waits/).getByRole("button", { name: "Kill" }).click(),
  ]);
  assert.equal(question, 'Kill command "waits"? Unsaved work is lost.');
  await row(/waits.*Ended/).waitFor();
  await page.getByRole("checkbox", { name: "Select visible rows" }).check();
  const bar = page.getByRole("toolbar", { name: "Selected rows" });
  await bar.getByText("3 selected").waitFor();
  await Promise.all([acceptPrompt(), bar.getByRole("button", { name: "Kill" }).click()]);
  await bar.getByRole("status").filter({ hasText: "2 killed; skipped: 1 ended" }).waitFor();
  await row(/holds.*Ended/).waitFor();
  await row(/talks.*Ended/).waitFor();

  // A client's address for a service leads to the page that waits for it; the task has ended.
  const { href } = new URL(
    await row(/talks/).getByRole("link", { name: "talks", exact: true }).getAttribute("href"),
    url,
  );
  const id = href.split("/").at(-1);
  await page.goto(`${url}/det/wait/notebook/${id}?eventUrl=x&serviceAddr=%2Fproxy%2F${id}%2F`);
  await page.getByText("The command has ended").waitFor();
  await page.getByLabel("Last lines of the log").getByText("hello from the task").waitFor();
  await inspect(page, "task-ended");
});
