// Starts Chromium for a test of the dashboard, and checks what applies to all pages: no errors in
// the console, no failed requests, no requests to other hosts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.WEBUI}/package.json`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** The master's URL, and the directory for screenshots. */
export const url = process.env.URL;
const outputs = process.env.OUTPUTS;

/** Runs `test(page, watch)` in a new browser; throws the error of the test or the problems of its pages. */
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
    const watch = watchPage(page);
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

function watchPage(page) {
  const watch = { problems: [], expected: [], scriptBytes: 0 };
  const report = (text) => {
    if (!watch.expected.some((pattern) => pattern.test(text))) watch.problems.push(text);
  };
  page.on("console", (message) => message.type() === "error" && report(`console: ${message.text()}`));
  page.on("pageerror", (error) => report(`error: ${error.stack}`));
  page.on("request", (request) => {
    const to = new URL(request.url());
    const own = to.protocol === "data:" || to.protocol === "blob:" || to.origin === url;
    if (!own) report(`request to another host: ${request.url()}`);
  });
  page.on("requestfailed", (request) => {
    // Leaving a page aborts its stream.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") {
      report(`failed: ${request.url()} ${request.failure()?.errorText}`);
    }
  });
  page.on("response", (response) => {
    if (response.status() >= 400) report(`${response.status()}: ${response.url()}`);
    const isScript = response.request().resourceType() === "script";
    if (isScript) watch.scriptBytes += Number(response.headers()["content-length"] ?? 0);
  });
  return watch;
}

/** Takes a screenshot and checks for serious accessibility violations, in both themes. */
export async function inspect(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.screenshot({
      path: `${outputs}/${name}-${colorScheme}.png`,
      fullPage: true,
    });
    // The page's policy forbids script elements, so the script is evaluated.
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

/** Signs in on the sign-in page; the previous page may also have a field "Username". */
export async function signIn(page, username, password) {
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await page.getByLabel("Username").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}
