// Home: the lists, and live updates of them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";

const create = () =>
  JSON.parse(
    execFileSync(process.env.DET, JSON.parse(process.env.CREATE), {
      encoding: "utf8",
    }),
  ).experiment.id;

await inBrowser(async (page, watch) => {
  await page.goto(url);
  await signIn(page, "admin", process.env.PASSWORD);
  const mine = page.getByRole("region", { name: "My experiments" });
  const ended = page.getByRole("region", { name: "Recently ended" });
  await ended.getByRole("row", { name: /Completed/ }).waitFor();
  await ended.getByRole("row", { name: /Error/ }).waitFor();
  await mine.getByRole("row", { name: /runs-for-long.*Running/ }).waitFor();

  await page.evaluate(() => (window.stayed = true));
  const id = create();
  await mine.getByRole("row", { name: new RegExp(`${id} .*Queued`) }).waitFor();
  await page.getByText("1 queued").waitFor();
  assert.equal(await page.evaluate(() => window.stayed), true, "the page was reloaded");
  await inspect(page, "home");

  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Page, experiment/ }).fill("clu");
  await inspect(page, "palette");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "agent-0" }).waitFor();
  await page
    .getByRole("table")
    .getByRole("row", { name: /runs-for-long.*Running/ })
    .waitFor();
  await page
    .getByRole("table")
    .getByRole("row", { name: /waits.*Queued/ })
    .waitFor();
  await inspect(page, "cluster");
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await mine.waitFor();
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await keys.getByText("Go to a page, experiment, trial, model or user").waitFor();
  await inspect(page, "shortcuts");
  await page.keyboard.press("Escape");
  await keys.waitFor({ state: "hidden" });

  await page.setViewportSize({ width: 390, height: 800 });
  await inspect(page, "home-narrow");
  await page.setViewportSize({ width: 1280, height: 800 });

  watch.scriptBytes = 0;
  await page.reload();
  await mine.getByRole("row").first().waitFor();
  const ms = await page.evaluate(() => Math.round(performance.now()));
  console.log(`home usable after ${ms} ms; script ${Math.round(watch.scriptBytes / 1024)} KiB`);
});
