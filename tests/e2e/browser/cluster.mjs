// The cluster's page: reorder the queue by keys and by dragging, and export usage as CSV.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

await inBrowser(async (page) => {
  const { button, csv } = makeHelpers(page);
  const queue = page.getByRole("group", { name: "Queue" });
  const row = (name) => queue.getByRole("row").filter({ hasText: name });
  const handle = (name) => queue.getByRole("button", { name: new RegExp(`^Move \\d+ ${name}:`) });
  /** Waits until the rows are these, from the first. */
  const inOrder = (...names) =>
    page.waitForFunction((wanted) => {
      const rows = [...document.querySelectorAll('[aria-label="Queue"] tbody tr')];
      return wanted.every((name, i) => rows[i]?.innerText.includes(name));
    }, names);

  await page.goto(`${url}/cluster`);
  await signIn(page, "admin", process.env.PASSWORD);
  await inOrder("holds", "first", "second", "third");

  // Move rows with the keyboard: the handle keeps the focus when its row moves.
  await handle("third").focus();
  await page.keyboard.press("ArrowUp");
  await inOrder("holds", "first", "third", "second");
  await queue
    .getByRole("status")
    .filter({ hasText: /^Moved \d+ third\./ })
    .waitFor();
  const focused = () => page.evaluate(() => document.activeElement.ariaLabel);
  assert.match(await focused(), /third: use the up and down arrow keys/);
  await page.keyboard.press("ArrowUp");
  await inOrder("holds", "third", "first", "second");
  await page.keyboard.press("ArrowDown");
  await inOrder("holds", "first", "third", "second");
  assert.match(await focused(), /third: use the up and down arrow keys/);
  await inspect(page, "queue-moved");

  // Drag rows down and up.
  await handle("first").dragTo(row("second"));
  await inOrder("holds", "third", "second", "first");
  await handle("second").dragTo(row("third"));
  await inOrder("holds", "second", "third", "first");
  await page.reload();
  await inOrder("holds", "second", "third", "first");

  // Move rows one place at a time with the buttons.
  await queue.getByRole("button", { name: /^Move \d+ first up$/ }).click();
  await inOrder("holds", "second", "first", "third");

  const parts = page.getByRole("navigation", { name: "Cluster sections" });
  await parts.getByRole("link", { name: "Usage" }).click();
  await page.getByRole("region", { name: "By user" }).getByText("admin").waitFor();
  const allocations = await csv(
    page.getByRole("link", { name: "Allocations (CSV)" }),
    "allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,end_time," +
      "imagepulling_time,slot_hours,resource_pool",
  );
  assert.equal(allocations.name, "allocations-day.csv");
  assert.match(allocations.lines.join("\n"), /,TRIAL,admin,Uncategorized,/);
  const days = await csv(
    page.getByRole("link", { name: "Daily usage (CSV)" }),
    "aggregation_type,aggregation_key,date,seconds",
  );
  assert.equal(days.name, "usage-by-day-day.csv");
  const users = await csv(button("Export usage by user as CSV"), "User,Slot-hours");
  assert.match(users.lines.join(), /^admin,\d/);
});
