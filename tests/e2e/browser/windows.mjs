// Many windows of one browser, each with a page of a running experiment and its log: a browser opens six
// connections to a host, but no window waits for another.
import assert from "node:assert/strict";
import { inBrowser, signIn, url } from "./browser.mjs";

const WINDOWS = 7;
const { EXPERIMENT: experiment } = process.env;

await inBrowser(async (page) => {
  await page.goto(url);
  await signIn(page, "admin", process.env.PASSWORD);
  await page.getByRole("region", { name: "My experiments" }).waitFor();
  const windows = [page];
  while (windows.length < WINDOWS) windows.push(await page.context().newPage());
  for (const each of windows) {
    await each.goto(`${url}/experiments/${experiment}/logs`);
    await each.getByText("Running").first().waitFor();
  }
  // Every window still finds a connection for a request.
  for (const each of windows) {
    const answer = await each.evaluate(async () => (await fetch("/api/v1/me")).status);
    assert.equal(answer, 200);
  }
  for (const each of windows.slice(1)) await each.close();
});
