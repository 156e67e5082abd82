// The table of experiments and trials: conditions built by mouse and by keys; columns coloured, pinned, moved
// and resized; rows selected without being loaded; all of it saved as a view.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const name = process.env.NAME;
const count = Number(process.env.COUNT);
const METRIC = "validation.loss.last";

await inBrowser(async (page) => {
  const { button, acceptPrompt } = makeHelpers(page);
  const table = page.getByRole("table", { name: "Trials" });
  const found = (rows) =>
    page.getByText(`${rows} ${rows === 1 ? "trial" : "trials"}`, { exact: true }).waitFor();
  const open = (what) => page.locator("summary", { hasText: what });
  const says = (pattern) =>
    page.waitForURL((address) => pattern.test(decodeURIComponent(address.search)));

  await page.goto(`${url}/experiments?of=runs`);
  await signIn(page, "admin", process.env.PASSWORD);
  await table.getByRole("link", { name }).first().waitFor();
  const all = Number((await page.getByText(/^\d+ trials$/).innerText()).split(" ")[0]);
  assert.ok(all > count);

  // Conditions: type a field and a value, choose an operator, add a group of alternatives.
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
  const group = page.getByRole("group", { name: "Any condition matches" });
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
  // The same filter as typed text gives the same conditions.
  await sentence.fill(`experimentName = ${name}`);
  await sentence.press("Enter");
  await found(count);
  await page.getByRole("group", { name: "Any condition matches" }).waitFor({ state: "detached" });
  assert.equal(await value().inputValue(), name);
  await open("Conditions").click();

  // Columns: add a metric, colour it by its values, pin it.
  await open("Columns").click();
  await page.getByLabel("Search columns").fill(METRIC);
  // The address changes before the checkbox does.
  await page.getByRole("checkbox", { name: METRIC }).click();
  await says(/columns=.*validation.loss.last/);
  const shown = page.locator("li", { hasText: METRIC });
  await shown.getByRole("button", { name: "color" }).click();
  await says(/heat=validation.loss.last/);
  for (let place = 6; place > 2; place--)
    await shown.getByRole("button", { name: `Move ${METRIC} left` }).click();
  await shown.getByRole("button", { name: "pin" }).click();
  await says(/pin=3/);
  await page.getByLabel("Compact rows").click();
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

  // Resize a column by keys and by dragging; move another by dragging its head.
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
  await head(/^Started/)
    .getByRole("button")
    .dragTo(head(/^State/));
  await says(/columns=.*startTime,state/);

  // Sort by two columns.
  await head(/^State/)
    .getByRole("button")
    .click();
  await head(/^Start/)
    .getByRole("button")
    .click({ modifiers: ["Shift"] });
  await says(/sort=state=asc,startTime=asc/);

  // Save all of it as a named view.
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
  await open("Views 1").click();
  await Promise.all([acceptPrompt(), button("Delete view coloured").click()]);
  await page.getByRole("link", { name: "coloured" }).waitFor({ state: "detached" });
  await open("Views").click();

  // Select one row, then all matching rows.
  await table
    .getByRole("checkbox", { name: /^Select \d+$/ })
    .first()
    .check();
  const bar = page.getByRole("toolbar", { name: "Selected rows" });
  await bar.getByRole("button", { name: `Select all ${count} matching rows` }).click();
  await bar.getByText(`${count} selected`).waitFor();
  // The trials have ended and belong to a search: nothing can be done to them but comparing them.
  const refusals = {
    Kill: `Kill does not apply: ${count} ended`,
    Delete: `Delete does not apply: ${count} part of a search`,
  };
  for (const [verb, reason] of Object.entries(refusals)) {
    const refused = bar.getByRole("button", { name: verb, exact: true });
    assert.ok(await refused.isDisabled(), verb);
    assert.equal(await refused.getAttribute("title"), reason);
  }
});
