// The table of experiments and runs: conditions put together by mouse and by keys, columns coloured, pinned, moved
// and resized, rows selected without being seen, and all of it kept as a view.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { handsOn } from "./hands.mjs";

const name = process.env.NAME;
const count = Number(process.env.COUNT);
const METRIC = "validation.loss.last";

await inBrowser(async (page) => {
  const { button, agree } = handsOn(page);
  const table = page.getByRole("table", { name: "Runs" });
  const found = (rows) => page.getByText(`${rows} runs`, { exact: true }).waitFor();
  const open = (what) => page.locator("summary", { hasText: what });
  const says = (pattern) =>
    page.waitForURL((address) => pattern.test(decodeURIComponent(address.search)));

  await page.goto(`${url}/experiments?of=runs`);
  await signIn(page, "admin", process.env.PASSWORD);
  await table.getByRole("link", { name }).first().waitFor();
  const all = Number((await page.getByText(/^\d+ runs$/).innerText()).split(" ")[0]);
  assert.ok(all > count);

  // Conditions: a field and a value by keys, an operator by choice, a group of others that need not hold.
  await open("Conditions").click();
  await button("Add condition").click();
  await page.keyboard.type("experimentName");
  const value = () => page.getByLabel("Value", { exact: true });
  await value().fill(name);
  await value().press("Enter");
  await found(count);
  await button("Add group").click();
  await page.keyboard.type("hp.x");
  await page.keyboard.press("Enter");
  const group = page.getByRole("group", { name: "One of these holds" });
  await group.getByLabel("Operator").selectOption(">=");
  await group.getByLabel("Value", { exact: true }).fill("1");
  await group.getByLabel("Value", { exact: true }).press("Enter");
  await found(0);
  await group.getByRole("button", { name: "Add condition" }).click();
  await page.keyboard.type("hp.x");
  await page.keyboard.press("Enter");
  await group.getByLabel("Operator").last().selectOption("<");
  await group.getByLabel("Value", { exact: true }).last().fill("0.75");
  await group.getByLabel("Value", { exact: true }).last().press("Enter");
  const sentence = page.getByLabel("Filter", { exact: true });
  const whole = `experimentName is ${name} and (hp.x >= 1 or hp.x < 0.75)`;
  await page.waitForFunction(
    ([text]) => document.querySelector('[aria-label="Filter"]').value === text,
    [whole],
  );
  await inspect(page, "conditions");
  // Typed, it is the same conditions; the address has it.
  await sentence.fill(`experimentName = ${name}`);
  await sentence.press("Enter");
  await found(count);
  await page.getByRole("group", { name: "One of these holds" }).waitFor({ state: "detached" });
  assert.equal(await value().inputValue(), name);
  await open("Conditions").click();

  // Columns: a metric's, coloured by its values, as one of those that stay.
  await open("Columns").click();
  await page.getByLabel("Search columns").fill(METRIC);
  // The address has it first, then the box.
  await page.getByRole("checkbox", { name: METRIC }).click();
  await says(/columns=.*validation.loss.last/);
  const shown = page.locator("li", { hasText: METRIC });
  await shown.getByRole("button", { name: "colour" }).click();
  await says(/heat=validation.loss.last/);
  for (let place = 6; place > 2; place--)
    await shown.getByRole("button", { name: `Move ${METRIC} left` }).click();
  await shown.getByRole("button", { name: "pin" }).click();
  await says(/pin=3/);
  await page.getByLabel("compact rows").click();
  await open("Columns").click();
  const cells = table.locator('[role="row"][aria-rowindex="2"] [role="cell"]');
  const cell = cells.nth(3);
  const colour = () => cell.evaluate((it) => getComputedStyle(it).backgroundColor);
  await page.waitForFunction(() => {
    const it = document.querySelectorAll('[role="row"][aria-rowindex="2"] [role="cell"]')[3];
    return it && /^0?\.\d|^\d/.test(it.innerText) && it.style.background;
  });
  const lightest = await colour();
  assert.notEqual(lightest, "rgba(0, 0, 0, 0)");
  assert.equal(await cells.nth(3).evaluate((it) => getComputedStyle(it).position), "sticky");
  assert.equal(await cells.nth(0).evaluate((it) => it.parentElement.offsetHeight), 28);
  await inspect(page, "heat-map");

  // A column's edge by keys and by dragging, a head dragged to another place.
  const head = (words) => table.getByRole("columnheader", { name: words });
  const edge = page.getByRole("separator", { name: /Width of Searcher Metric Value/i });
  const width = async () => Number(await edge.getAttribute("aria-valuenow"));
  const before = await width();
  await edge.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(
    ([was]) =>
      [...document.querySelectorAll('[role="separator"]')].some(
        (it) => Number(it.getAttribute("aria-valuenow")) === was + 16,
      ),
    [before],
  );
  const { x, y } = await edge.boundingBox();
  await page.mouse.move(x + 3, y + 10);
  await page.mouse.down();
  await page.mouse.move(x + 63, y + 10, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(
    ([least]) =>
      [...document.querySelectorAll('[role="separator"]')].some(
        (it) =>
          /Searcher Metric Value/i.test(it.getAttribute("aria-label")) &&
          Number(it.getAttribute("aria-valuenow")) > least,
      ),
    [before + 40],
  );
  await says(/widths=searcherMetricsVal:/);
  await head(/^Started|^Start Time/)
    .getByRole("button")
    .dragTo(head(/^State/));
  await says(/columns=.*startTime,state/);

  // Sorted by two.
  await head(/^State/)
    .getByRole("button")
    .click();
  await head(/^Start/)
    .getByRole("button")
    .click({ modifiers: ["Shift"] });
  await says(/sort=state=asc,startTime=asc/);

  // All of it is a view with a name.
  const kept = new URL(page.url()).search;
  await open("Views").click();
  await page.getByLabel("Name of this view").fill("coloured");
  await button("Save").click();
  await page.getByRole("link", { name: "coloured" }).waitFor();
  await inspect(page, "views");
  await page.goto(`${url}/experiments`);
  await open("Views 1").click();
  await page.getByRole("link", { name: "coloured" }).click();
  await found(count);
  assert.equal(new URL(page.url()).search, kept);
  await Promise.all([agree(), button("Forget coloured").click()]);
  await page.getByRole("link", { name: "coloured" }).waitFor({ state: "detached" });
  await open("Views").click();

  // All that match, of which one was ticked.
  await table
    .getByRole("checkbox", { name: /^Select \d+$/ })
    .first()
    .check();
  const bar = page.getByRole("toolbar", { name: "Selected rows" });
  await bar.getByRole("button", { name: `Select all ${count} that match` }).click();
  await bar.getByText(`${count} selected`).waitFor();
  const [question] = await Promise.all([
    page.waitForEvent("dialog").then(async (asked) => {
      await asked.dismiss();
      return asked.message();
    }),
    bar.getByRole("button", { name: "Kill" }).click(),
  ]);
  assert.match(question, new RegExp(`^Kill ${count} runs\\?`));
});
