// Measures the dashboard of a real master in Chromium. Prints the results by name as JSON; started by `run`.
import { readFileSync } from "node:fs";
import { openBrowser, url } from "./browser.mjs";

const { LIVE: live, TOLD: told } = process.env;
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

/** As a link of the page does; the time when it was followed. */
const follow = (page, path) =>
  page.evaluate((to) => {
    const at = performance.now();
    history.pushState({}, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
    return at;
  }, path);

/** When the answer of an address that contains `part` had come whole; waits for it. */
const answered = (page, part) =>
  page
    .waitForFunction((text) => {
      const found = performance.getEntriesByType("resource").filter((e) => e.name.includes(text));
      return found.at(-1)?.responseEnd;
    }, part)
    .then((handle) => handle.jsonValue());

/** When the last stroke was made, once there were `least` and then none for half a second. */
const drawn = (page, least, after) =>
  page
    .waitForFunction(
      ([count, since]) => {
        const { strokes, drawn: at } = window.figures;
        return strokes >= count && at > since && performance.now() - at > 500 && at;
      },
      [least, after],
    )
    .then((handle) => handle.jsonValue());

/** The longest time between two frames while `act` is running. */
async function longestFrame(page, act) {
  await page.evaluate(() => {
    window.frames_ = [];
    const next = (at) => {
      window.frames_.push(at);
      window.going = requestAnimationFrame(next);
    };
    window.going = requestAnimationFrame(next);
  });
  await act();
  return page.evaluate(() => {
    cancelAnimationFrame(window.going);
    return Math.max(...window.frames_.slice(1).map((at, i) => at - window.frames_[i]));
  });
}

/** When a row was first there; looked for in each frame, which Playwright's `waitFor` does not. */
const firstRow = (page, rows) =>
  page
    .waitForFunction((selector) => document.querySelector(selector) && performance.now(), rows)
    .then((handle) => handle.jsonValue());

async function firstPage() {
  const page = await context.newPage();
  await page.goto(`${url}/`, { waitUntil: "commit" });
  figures.usable = await firstRow(page, "main tbody tr");
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
  const at = await answered(page, "trials-sample");
  figures.curves = (await drawn(page, 500, at)) - at;
  const box = await page.locator("figure .u-over").first().boundingBox();
  const [y, from, to] = [box.y + box.height / 2, box.x + box.width * 0.7, box.x + box.width * 0.3];
  const drag = async () => {
    await page.mouse.move(from, y);
    await page.mouse.down();
    for (let i = 1; i <= 60; i++) await page.mouse.move(from + ((to - from) * i) / 60, y);
    await page.mouse.up();
  };
  await page.keyboard.down("Shift");
  figures.pan = await longestFrame(page, drag);
  await page.keyboard.up("Shift");
  figures.zoom = await longestFrame(page, drag);
  await page.close();
}

async function longTrial() {
  const page = await open("/");
  await page.getByRole("region", { name: "My experiments" }).waitFor();
  const began = await follow(page, "/trials/400001");
  const at = await answered(page, "time-series");
  figures.trial = (await drawn(page, 1, at)) - began;
  await page.close();
}

/** From `act` until the table shows something else than before. */
async function untilChanged(page, act) {
  await page.evaluate(() => {
    // Not as a string to evaluate, which the Content-Security-Policy of the page forbids.
    window.firstRows = () =>
      [...document.querySelectorAll('[role="row"][aria-rowindex]')]
        .slice(0, 3)
        .map((row) => row.innerText)
        .join("\n");
  });
  const before = await page.evaluate(() => window.firstRows());
  await page.evaluate((was) => {
    window.changed = new Promise((resolve) => {
      let began;
      const start = () => (began ??= performance.now());
      addEventListener("click", start, { capture: true, once: true });
      addEventListener("keydown", (e) => e.key === "Enter" && start(), { capture: true });
      const look = () => {
        const now = window.firstRows();
        const blank = now.split("\n").every((line) => line.trim() === "");
        if (began && !blank && now !== was) resolve(performance.now() - began);
        else requestAnimationFrame(look);
      };
      look();
    });
  }, before);
  await act();
  return page.evaluate(() => window.changed);
}

async function table() {
  const page = await open("/");
  await page.getByRole("region", { name: "My experiments" }).waitFor();
  const began = await follow(page, "/experiments?of=runs");
  const link = page.locator('[role="row"][aria-rowindex] a').first();
  figures.rows = (await firstRow(page, '[role="row"][aria-rowindex] a')) - began;
  const sort = page.locator('button[title^="id: sort"]');
  figures.sort = await untilChanged(page, () => sort.click());
  await page.getByLabel("Filter").fill("hp.lr < 0.01");
  figures.filter = await untilChanged(page, () => page.keyboard.press("Enter"));
  await page.goto(`${url}/experiments?of=runs`);
  await link.waitFor();
  figures.blank = await scroll(page);
  await page.close();
}

/** The part of the frames, in percent, in which a row that is seen has nothing in it. */
async function scroll(page) {
  await page.evaluate(() => {
    window.seen = { frames: 0, blank: 0 };
    const look = () => {
      const rows = [...document.querySelectorAll('[role="row"][aria-rowindex]')];
      window.seen.frames++;
      if (rows.length === 0 || rows.some((row) => row.innerText.trim() === "")) window.seen.blank++;
      window.going = requestAnimationFrame(look);
    };
    look();
  });
  const box = await page.getByRole("table").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let i = 0; i < 150; i++) {
    await page.mouse.wheel(0, 100);
    await page.waitForTimeout(16);
  }
  return page.evaluate(() => {
    cancelAnimationFrame(window.going);
    return (100 * window.seen.blank) / window.seen.frames;
  });
}

/** From a report's answer to the page that shows it: the longest of 20. */
async function reported() {
  const page = await open(`/experiments/${live}`);
  await page.getByText(/^best /).waitFor();
  const shown = await page.evaluate(
    (wanted) =>
      new Promise((resolve) => {
        const times = new Map();
        const look = () => {
          const value = document.body.innerText.match(/best ([\d,.]+)/)?.[1]?.replace(",", "");
          if (value && !times.has(value)) times.set(value, Date.now());
          if (times.size <= wanted) requestAnimationFrame(look);
          else resolve([...times].slice(1)); // the first one existed before
        };
        look();
      }),
    20,
  );
  const sent = new Map(
    readFileSync(told, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" ")),
  );
  figures.reported = Math.max(...shown.map(([value, at]) => at - Number(sent.get(value))));
  await page.close();
}

/** Fails if what is measured does not come to an end: a page waits by itself without a limit. */
function within(measured) {
  let timer;
  const limit = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error("takes too long")), timeout);
  });
  return Promise.race([measured, limit]).finally(() => clearTimeout(timer));
}

for (const measure of [firstPage, curves, longTrial, table, reported]) {
  try {
    await within(measure());
    console.error(`${measure.name}: ${JSON.stringify(figures)}`);
  } catch (error) {
    console.error(`${measure.name}: ${error.message}`);
    process.exitCode = 1;
  }
}
await browser.close();
console.log(JSON.stringify(figures));
