// Measures the dashboard of a real master in Chromium. Prints the results by name as JSON; started by `run`.
import { readFileSync } from "node:fs";
import { openBrowser, url } from "./browser.mjs";

const { LIVE: live, REPORTS: reportsFile } = process.env;
const timeout = 60_000; // ms; detects hangs
const figures = {};

const { browser, context } = await openBrowser(() => {
  window.figures = { strokes: 0, drawn: 0 };
  const { stroke } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.stroke = function (...path) {
    stroke.apply(this, path);
    window.figures.strokes++;
    window.figures.drawn = performance.now();
  };
});

async function open(path) {
  const page = await context.newPage();
  page.setDefaultTimeout(timeout);
  await page.goto(url + path);
  return page;
}

/** Navigates as a link of the page does; returns the time of the navigation. */
const navigate = (page, path) =>
  page.evaluate((to) => {
    const at = performance.now();
    history.pushState({}, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
    return at;
  }, path);

/** Waits for the complete response of an address that contains `part`; returns its time. */
const waitForResponse = (page, part) =>
  page
    .waitForFunction((text) => {
      const found = performance.getEntriesByType("resource").filter((e) => e.name.includes(text));
      return found.at(-1)?.responseEnd;
    }, part)
    .then((handle) => handle.jsonValue());

/** Waits for at least `min` strokes and then half a second without any; returns the time of the last one. */
const waitForDrawing = (page, min, after) =>
  page
    .waitForFunction(
      ([count, since]) => {
        const { strokes, drawn: at } = window.figures;
        return strokes >= count && at > since && performance.now() - at > 500 && at;
      },
      [min, after],
    )
    .then((handle) => handle.jsonValue());

/** Returns the longest time between two frames during `act`. */
async function measureLongestFrame(page, act) {
  await page.evaluate(() => {
    window.frames_ = [];
    const next = (at) => {
      window.frames_.push(at);
      window.nextFrame = requestAnimationFrame(next);
    };
    window.nextFrame = requestAnimationFrame(next);
  });
  await act();
  return page.evaluate(() => {
    cancelAnimationFrame(window.nextFrame);
    return Math.max(...window.frames_.slice(1).map((at, i) => at - window.frames_[i]));
  });
}

/** Waits for a row; returns its time. Checks each frame, unlike Playwright's `waitFor`. */
const waitForRow = (page, rows) =>
  page
    .waitForFunction((selector) => document.querySelector(selector) && performance.now(), rows)
    .then((handle) => handle.jsonValue());

async function firstPage() {
  const page = await context.newPage();
  await page.goto(`${url}/`, { waitUntil: "commit" });
  figures.usable = await waitForRow(page, "main tbody tr");
  figures.script = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .filter(({ name }) => name.endsWith(".js"))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize / 1000, 0),
  );
  await page.close();
}

async function curves() {
  const page = await open("/experiments/20001");
  const at = await waitForResponse(page, "trials-sample");
  figures.curves = (await waitForDrawing(page, 500, at)) - at;
  const box = await page.locator("figure .u-over").first().boundingBox();
  const [y, from, to] = [box.y + box.height / 2, box.x + box.width * 0.7, box.x + box.width * 0.3];
  const drag = async () => {
    await page.mouse.move(from, y);
    await page.mouse.down();
    for (let i = 1; i <= 60; i++) await page.mouse.move(from + ((to - from) * i) / 60, y);
    await page.mouse.up();
  };
  await page.keyboard.down("Shift");
  figures.pan = await measureLongestFrame(page, drag);
  await page.keyboard.up("Shift");
  figures.zoom = await measureLongestFrame(page, drag);
  await page.close();
}

async function longTrial() {
  const page = await open("/");
  await page.getByRole("region", { name: "My experiments" }).waitFor();
  const startedAt = await navigate(page, "/trials/400001");
  const at = await waitForResponse(page, "time-series");
  figures.trial = (await waitForDrawing(page, 1, at)) - startedAt;
  await page.close();
}

/** Returns the milliseconds from `act` until the table shows other rows. */
async function measureChange(page, act) {
  await page.evaluate(() => {
    // A function, because the page's Content-Security-Policy forbids evaluating a string.
    window.firstRows = () =>
      [...document.querySelectorAll('[role="row"][aria-rowindex]')]
        .slice(0, 3)
        .map((row) => row.innerText)
        .join("\n");
  });
  const before = await page.evaluate(() => window.firstRows());
  await page.evaluate((was) => {
    window.changed = new Promise((resolve) => {
      let startedAt;
      const start = () => (startedAt ??= performance.now());
      addEventListener("click", start, { capture: true, once: true });
      addEventListener("keydown", (e) => e.key === "Enter" && start(), { capture: true });
      const check = () => {
        const now = window.firstRows();
        const blank = now.split("\n").every((line) => line.trim() === "");
        if (startedAt && !blank && now !== was) resolve(performance.now() - startedAt);
        else requestAnimationFrame(check);
      };
      check();
    });
  }, before);
  await act();
  return page.evaluate(() => window.changed);
}

async function table() {
  const page = await open("/");
  await page.getByRole("region", { name: "My experiments" }).waitFor();
  const startedAt = await navigate(page, "/experiments?of=runs");
  const link = page.locator('[role="row"][aria-rowindex] a').first();
  figures.rows = (await waitForRow(page, '[role="row"][aria-rowindex] a')) - startedAt;
  const sort = page.locator('button[title^="id: sort"]');
  figures.sort = await measureChange(page, () => sort.click());
  await page.getByLabel("Filter").fill("hp.lr < 0.01");
  figures.filter = await measureChange(page, () => page.keyboard.press("Enter"));
  await page.goto(`${url}/experiments?of=runs`);
  await link.waitFor();
  figures.blank = await scroll(page);
  await page.close();
}

/** Scrolls; returns the percentage of frames with an empty visible row. */
async function scroll(page) {
  await page.evaluate(() => {
    window.stats = { frames: 0, blank: 0 };
    const check = () => {
      const rows = [...document.querySelectorAll('[role="row"][aria-rowindex]')];
      window.stats.frames++;
      if (rows.length === 0 || rows.some((row) => row.innerText.trim() === "")) window.stats.blank++;
      window.nextFrame = requestAnimationFrame(check);
    };
    check();
  });
  const box = await page.getByRole("table").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let i = 0; i < 150; i++) {
    await page.mouse.wheel(0, 100);
    await page.waitForTimeout(16);
  }
  return page.evaluate(() => {
    cancelAnimationFrame(window.nextFrame);
    return (100 * window.stats.blank) / window.stats.frames;
  });
}

/** Measures the time from the response to a report until the page shows it: the longest of 20. */
async function reported() {
  const page = await open(`/experiments/${live}`);
  await page.getByText(/^best /).waitFor();
  const shown = await page.evaluate(
    (count) =>
      new Promise((resolve) => {
        const times = new Map();
        const check = () => {
          const value = document.body.innerText.match(/best ([\d,.]+)/)?.[1]?.replace(",", "");
          if (value && !times.has(value)) times.set(value, Date.now());
          if (times.size <= count) requestAnimationFrame(check);
          else resolve([...times].slice(1)); // the first one existed before
        };
        check();
      }),
    20,
  );
  const sent = new Map(
    readFileSync(reportsFile, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" ")),
  );
  figures.reported = Math.max(...shown.map(([value, at]) => at - Number(sent.get(value))));
  await page.close();
}

/** Rejects if a measurement takes too long, because waiting in a page has no limit. */
function withTimeout(measurement) {
  let timer;
  const limit = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`not finished after ${timeout} ms`)), timeout);
  });
  return Promise.race([measurement, limit]).finally(() => clearTimeout(timer));
}

for (const measure of [firstPage, curves, longTrial, table, reported]) {
  try {
    await withTimeout(measure());
    console.error(`${measure.name}: ${JSON.stringify(figures)}`);
  } catch (error) {
    console.error(`${measure.name}: ${error.message}`);
    process.exitCode = 1;
  }
}
await browser.close();
console.log(JSON.stringify(figures));
