// Starts Chromium, signed in as administrator of the cluster at URL with PASSWORD, for each measurement.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.WEBUI}/package.json`);
const { chromium } = require("playwright-core");
export const { URL: url, PASSWORD: password } = process.env;

/** Opens a browser and a context. `prepare` runs in each page before the page's own scripts. */
export async function openBrowser(prepare = () => undefined) {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: [
      ...["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
      // Prevents Playwright from parsing all scripts again to map calls to source lines.
      "--js-flags=--no-enable-lazy-source-positions",
    ],
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addInitScript(() => localStorage.setItem("signedIn", "yes"));
  await context.addInitScript(prepare);
  await context.request.post(`${url}/api/v1/auth/login`, {
    headers: { "X-Det-Session": "cookie" },
    data: { username: "admin", password },
  });
  return { browser, context };
}
