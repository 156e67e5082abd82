// A Chromium for a test of the dashboard. What no page may do is found here, once for all tests:
// errors in the console, requests that fail, requests that leave the master.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.WEBUI}/package.json`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Where the master answers, and where what is worth keeping goes. */
export const url = process.env.URL;
const outputs = process.env.OUTPUTS;

/** Runs `test(page, watch)` in a browser of its own; throws what went wrong, in it or around it. */
export async function inBrowser(test, options = {}) {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  try {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const watch = watchOver(page);
    try {
      await test(page, watch);
    } catch (error) {
      await page.screenshot({ path: `${outputs}/failed.png` });
      console.error(await page.locator("body").innerText());
      throw error;
    }
    assert.deepEqual(watch.problems, []);
  } finally {
    await browser.close();
  }
}

function watchOver(page) {
  const watch = { problems: [], expected: [], scriptBytes: 0 };
  const note = (text) => {
    if (!watch.expected.some((pattern) => pattern.test(text))) watch.problems.push(text);
  };
  page.on("console", (message) => message.type() === "error" && note(`console: ${message.text()}`));
  page.on("pageerror", (error) => note(`error: ${error.stack}`));
  page.on("request", (request) => {
    const to = new URL(request.url());
    const own = to.protocol === "data:" || to.protocol === "blob:" || to.origin === url;
    if (!own) note(`leaves the machine: ${request.url()}`);
  });
  page.on("requestfailed", (request) => {
    // A stream is cut off by leaving its page.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") {
      note(`failed: ${request.url()} ${request.failure()?.errorText}`);
    }
  });
  page.on("response", (response) => {
    if (response.status() >= 400) note(`${response.status()}: ${response.url()}`);
    const isScript = response.request().resourceType() === "script";
    if (isScript) watch.scriptBytes += Number(response.headers()["content-length"] ?? 0);
  });
  return watch;
}

/** In both themes: no violation of the rules of accessibility that is serious, and a picture. */
export async function inspect(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.screenshot({
      path: `${outputs}/${name}-${colorScheme}.png`,
      fullPage: true,
    });
    // Not by a script element, which the page's policy forbids.
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    const bad = violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, help, nodes }) => ({
        id,
        help,
        nodes: nodes.map(({ html }) => html),
      }));
    assert.deepEqual(bad, [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: null });
}

/** As a person does: once the page that asks is there. The page before may have a field "Username", too. */
export async function signIn(page, username, password) {
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await page.getByLabel("Username").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}
