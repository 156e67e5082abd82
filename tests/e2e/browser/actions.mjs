// Actions on a running experiment and its log: pause, activate, cancel, continue, start a search from its
// best trial; filter the log.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const { EXPERIMENT: experiment, PASSWORD: password } = process.env;

await inBrowser(async (page) => {
  const { button } = makeHelpers(page);
  await page.goto(`${url}/experiments/${experiment}`);
  await signIn(page, "admin", password);
  await page.getByText("Running").first().waitFor();

  // Filter the log by text; the address keeps the filter.
  await page.goto(`${url}/experiments/${experiment}/logs`);
  const line = page.getByText(/^step \d+ of many/);
  await line.first().waitFor();
  const text = page.getByRole("searchbox", { name: "Search text" });
  await text.fill("step 3 of");
  await text.press("Enter");
  await page.waitForURL(/step/);
  await page.getByText("step 3 of many").waitFor();
  await page.getByText("step 4 of many").waitFor({ state: "detached" });
  await inspect(page, "log-filtered");
  await text.fill("");
  await text.press("Enter");
  await page.waitForURL((address) => !/step/.test(address.search));
  await line.nth(1).waitFor();

  await button("Pause").click();
  await page.getByText("Paused").first().waitFor();
  await button("Activate").click();
  await page.getByText("Running").first().waitFor();

  // Cancel and continue.
  await button("Cancel").click();
  await page.getByText(/Canceled$/).waitFor(); // the state; the log's own line is in capitals
  await button("Continue").click();
  await page.getByText("Running").first().waitFor();

  await page.getByRole("link", { name: "New search from best trial" }).click();
  const editor = page.getByLabel("Configuration (YAML)");
  await page.waitForURL(/for=search/);
  assert.match(await editor.inputValue(), /searcher"?:/);
  await page.getByText("Configuration is valid.").waitFor();
  await inspect(page, "search-from");
});
