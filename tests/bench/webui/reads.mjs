// Records the requests that open pages send from Chromium, and prints them as JSON; started by `run`.
// PATHS: JSON list of the paths of the pages; SECONDS: how long each open page is recorded.
import { openBrowser, url } from "./browser.mjs";

const seconds = Number(process.env.SECONDS);
const settled = 8_000; // ms until the initial reads of a page are complete

const { browser, context } = await openBrowser(() => {
  // Requests of workers are not visible here; without a worker, the page sends the same ones.
  delete window.SharedWorker;
});

async function recordPage(path) {
  const page = await context.newPage();
  const [streams, reads] = [new Map(), []];
  let startedAt = Infinity;
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (!pathname.startsWith("/api/")) return;
    const isStream = request.headers()["accept"] === "text/event-stream";
    if (isStream) streams.set(request, pathname + search);
    else if (Date.now() >= startedAt) {
      reads.push({
        ...{ at: (Date.now() - startedAt) / 1000, method: request.method(), path: pathname + search },
        body: request.postData() ?? "",
      });
    }
  });
  page.on("requestfailed", (request) => streams.delete(request));
  page.on("requestfinished", (request) => streams.delete(request));
  await page.goto(url + path);
  await page.locator("figure .u-over").first().waitFor();
  await page.waitForTimeout(settled);
  startedAt = Date.now();
  await page.waitForTimeout(1000 * seconds);
  const open = [...streams.values()];
  await page.close();
  return { path, streams: open, reads };
}

const pages = [];
for (const path of JSON.parse(process.env.PATHS)) pages.push(await recordPage(path));
await browser.close();
console.log(JSON.stringify(pages));
