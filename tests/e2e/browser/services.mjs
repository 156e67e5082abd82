// The services of tasks in Chromium: JupyterLab in a copy of an experiment's files, and TensorBoard of the experiment.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const experiment = process.env.EXPERIMENT;

await inBrowser(async (page, watch) => {
  const { button, field, send } = makeHelpers(page);
  const dialog = page.getByRole("dialog");
  const row = (name) => page.getByRole("table", { name: "Tasks" }).getByRole("row", { name });
  /** Waits for the service of a task, which `open` opens; returns the path of its page. */
  const openService = async (open) => {
    await open();
    await page.waitForURL(/\/proxy\//, { timeout: 120_000 });
    return new URL(page.url()).pathname;
  };

  await page.goto(`${url}/experiments/${experiment}`);
  await signIn(page, "admin", process.env.PASSWORD);

  // The page of a notebook's launch waits until JupyterLab serves, and leads to it.
  await button("Open notebook").click();
  await dialog.getByText(`a copy of the files of experiment ${experiment}`).waitFor();
  await field("Slots").fill("0");
  await inspect(page, "open-notebook");
  await dialog.getByText("Configuration is valid.").waitFor();
  await openService(async () => {
    await send("Launch");
    await page.getByText("The notebook opens here once it is ready.").waitFor();
  });
  // JupyterLab reports in the console what it does not find, which is not the dashboard's.
  watch.expected.push(/./);
  await page.getByRole("listitem", { name: /learns\.py/ }).waitFor({ timeout: 120_000 });
  assert.match(await page.title(), /JupyterLab/);

  await page.goto(`${url}/experiments/${experiment}`);
  watch.expected.pop();
  await page.getByRole("link", { name: "Tasks" }).click();
  await row(/Notebook of experiment.*Running/).waitFor();

  // One click opens a TensorBoard; a second one opens the same.
  await page.goto(`${url}/experiments/${experiment}`);
  // TensorBoard does not find its fonts below a prefix.
  watch.expected.push(/font-roboto|status of 404/);
  const first = await openService(() => button("Open TensorBoard").click());
  await page.locator("tf-dashboard, tf-app, app-root, tb-webapp").first().waitFor();
  assert.match(await page.title(), /TensorBoard/);
  await page.goto(`${url}/experiments/${experiment}`);
  assert.equal(await openService(() => button("Open TensorBoard").click()), first);
});
