// The log of an ended trial: filters by rank, level, time and regular expression.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const { TRIAL: trial, PASSWORD: password } = process.env;

await inBrowser(async (page) => {
  const { button } = makeHelpers(page);
  const log = page.getByRole("log");
  const has = (text) => log.getByText(text).first().waitFor();
  const hasNot = (text) => log.getByText(text).first().waitFor({ state: "detached" });
  const isAt = (pattern) => page.waitForURL((address) => pattern.test(address.search));
  const showAll = async () => {
    await button("Show all lines").click();
    await isAt(/^(?!.*(rank|level|since|until|text))/);
    await has("INFO: calm of 0");
    await has("ERROR: broken of 1");
  };

  await page.goto(`${url}/trials/${trial}/logs`);
  await signIn(page, "admin", password);
  await has("INFO: calm of 0");
  await has("ERROR: broken of 1");

  await page.getByLabel("Rank").fill("1");
  await page.getByLabel("Rank").press("Enter");
  await isAt(/rank=1/);
  await hasNot("calm of 0");
  await has("calm of 1");
  await inspect(page, "log-rank");
  // The address keeps the filter.
  await page.reload();
  await has("calm of 1");
  assert.equal(await log.getByText("calm of 0").count(), 0);
  await showAll();

  await page.getByLabel("Level").selectOption("WARNING");
  await isAt(/level=WARNING/);
  await hasNot("calm of 0");
  await has("WARNING: warm of 0");
  await has("ERROR: broken of 1");
  await page.getByLabel("Level").selectOption("ERROR");
  await hasNot("warm of 0");
  await has("ERROR: broken of 1");
  await showAll();

  const to = page.getByLabel("To", { exact: true });
  await to.fill("2001-01-01T00:00:01");
  await to.press("Enter");
  await isAt(/until=2001/);
  await page.getByText(/^No lines match/).waitFor();
  await showAll();
  const from = page.getByLabel("From", { exact: true });
  await from.fill("2001-01-01T00:00:01");
  await from.press("Enter");
  await isAt(/since=2001/);
  await has("calm of 0");

  await page.getByLabel("Regular expression").check();
  const pattern = page.getByRole("searchbox", { name: "Regular expression" });
  await pattern.fill("(warm|broken) of [1-3]");
  await pattern.press("Enter");
  await isAt(/pattern=yes/);
  await hasNot("calm of 1");
  await has("warm of 1");
  await has("broken of 1");
  assert.equal(await log.getByText("of 0").count(), 0);
  await showAll();
});
