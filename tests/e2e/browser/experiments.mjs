// Experiments: filter the list, watch one, kill it, edit and fork it; a trial; a comparison of two trials.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const tabs = ["Trials", "Hyperparameters", "Searcher", "Code", "Configuration", "Notes", "Logs"];

await inBrowser(async (page, watch) => {
  const { csv } = makeHelpers(page);
  await page.goto(`${url}/experiments`);
  await signIn(page, "admin", process.env.PASSWORD);
  const table = page.getByRole("table", { name: "Experiments" });
  await table.getByRole("link", { name: "learns" }).waitFor();
  await page.getByLabel("Filter").fill("colour is red");
  await page.keyboard.press("Enter");
  await page.getByText(/^unknown column "colour"/).waitFor();
  await page.getByLabel("Filter").fill("name is learns and x >= 0");
  await page.keyboard.press("Enter");
  await page.getByText("1 experiment", { exact: true }).waitFor();
  assert.match(page.url(), /filter=name/);
  await inspect(page, "experiments");

  // The curves grow while the page is open.
  await table.getByRole("link", { name: "learns" }).click();
  await page.getByRole("figure").locator("canvas").waitFor();
  const best = () => page.getByText(/^best /).innerText();
  const before = await best();
  await page.waitForFunction((was) => !document.body.innerText.includes(was), before);
  await inspect(page, "experiment");
  const parts = page.getByRole("navigation", { name: "Experiment sections" });
  for (const tab of tabs) {
    await parts.getByRole("link", { name: new RegExp(`^${tab}`) }).click();
    await inspect(page, `experiment-${tab.toLowerCase()}`);
  }
  await page
    .getByText(/^step \d+ of many/)
    .first()
    .waitFor();

  const trial = Number((await best()).match(/trial (\d+)/)[1]);

  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Kill" }).click();
  await page.getByText(/Canceled$/).waitFor(); // the state; the log's own line is in capitals

  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByLabel("Description").fill("What was learned");
  await page.getByLabel("Labels").fill("a, b");
  await page.getByRole("button", { name: "Save" }).click();
  await parts.getByRole("link", { name: "Overview" }).click();
  await page.getByText("What was learned").waitFor();
  await page.getByText("a, b").waitFor();

  watch.expected.push(/400/); // the editor validates invalid text, too
  await page.getByRole("link", { name: "Fork" }).click();
  const editor = page.getByLabel("Configuration (YAML)");
  const config = await editor.inputValue();
  await editor.fill(config.replace("single", "sinlge"));
  await page.getByText("sinlge").last().waitFor();
  assert.equal(await page.getByRole("button", { name: "Start" }).isDisabled(), true);
  await editor.fill(config.replace("learns", "learns-again"));
  await page.getByText("Configuration is valid.").waitFor();
  await inspect(page, "fork");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByText("learns-again").waitFor();

  await page.goto(`${url}/trials/${trial}`);
  await page.getByRole("figure").first().locator("canvas").waitFor();
  await inspect(page, "trial");
  const curve = page.getByRole("figure").filter({ hasText: "loss" }).first();
  const kept = await csv(
    curve.getByRole("button", { name: /as CSV$/ }),
    "trial,batches,epoch,time,loss",
  );
  assert.match(kept.name, /^Trial-\d+-of-experiment-\d+-loss.csv$/);
  // The loss at step n is 1 + 1/n.
  assert.match(kept.lines[0], new RegExp(`^${trial},1,,[^,]+Z,2$`));
  assert.match(kept.lines[1], new RegExp(`^${trial},2,,[^,]+Z,1.5$`));
  for (const tab of ["Checkpoints", "Logs", "Hyperparameters", "Attempts", "System"]) {
    await page.getByRole("link", { name: new RegExp(`^${tab}`) }).click();
    await inspect(page, `trial-${tab.toLowerCase()}`);
  }
  // The fork's trial has the next ID.
  await page.goto(`${url}/compare?trials=${trial},${trial + 1}`);
  await page
    .getByRole("row", { name: /learns-again/ })
    .first()
    .waitFor();
  await inspect(page, "compare");
});
