// Bulk actions: select experiments, move them to another project, delete them, report refusals.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const [one, two, three, running] = JSON.parse(process.env.EXPERIMENTS);
const project = process.env.PROJECT;

await inBrowser(async (page) => {
  const { field, send, acceptPrompt } = makeHelpers(page);
  const box = (id) => page.getByRole("checkbox", { name: `Select ${id}`, exact: true });
  const bar = page.getByRole("toolbar", { name: "Selected rows" });
  const press = (name) => bar.getByRole("button", { name, exact: true }).click();
  const status = (text) => bar.getByRole("status").filter({ hasText: text }).waitFor();

  await page.goto(`${url}/experiments`);
  await signIn(page, "admin", process.env.PASSWORD);
  for (const id of [one, two]) await box(id).check();
  await bar.getByText("2 selected").waitFor();
  await inspect(page, "bulk");
  await press("Move");
  await page.getByRole("heading", { name: "Move 2 experiments" }).waitFor();
  await field("Destination project").selectOption({ label: "Uncategorized / attic" });
  await inspect(page, "bulk-move");
  await send("Move");
  await status(/^2 moved$/);

  // The project lists the two moved experiments and not the third.
  await page.goto(`${url}/experiments?project=${project}`);
  await page.getByText("2 experiments").waitFor();
  await box(one).waitFor();
  await box(two).waitFor();

  // After the confirmation the ended experiment is deleted; the running one is skipped.
  await page.goto(`${url}/experiments`);
  for (const id of [three, running]) await box(id).check();
  const [question] = await Promise.all([acceptPrompt(), press("Delete")]);
  assert.match(question, /^Delete 1 of 2 experiments\? .*checkpoints are deleted/);
  await status(/^1 deleted; 1 skipped: 1 not ended$/);
  await box(three).waitFor({ state: "detached" });
  await box(running).waitFor();

  // Dismissing the confirmation deletes nothing.
  await page.goto(`${url}/experiments?project=${project}`);
  await box(one).check();
  await Promise.all([
    page.waitForEvent("dialog").then((asked) => asked.dismiss()),
    press("Delete"),
  ]);
  assert.equal(await bar.getByRole("status").innerText(), "");
  await press("Clear");
  await page.getByText("2 experiments").waitFor();
});
