// Measures a log with a million lines in Chromium. Prints the results by name as JSON; started by `run_log`.
import { openBrowser, url } from "./browser.mjs";

const { TRIAL: trial } = process.env;
const figures = {};

const { browser, context } = await openBrowser();
const page = await context.newPage();
page.setDefaultTimeout(60_000); // detects hangs
const log = page.getByRole("log");

/**
 * When a line that fits `pattern` is first seen, by the page's clock. Looked for in each frame: Playwright's own
 * waiting looks twice a second only, after a while.
 */
const shown = (pattern) =>
  page.evaluate((source) => {
    const wanted = new RegExp(source, "m");
    return new Promise((resolve) => {
      const look = () => {
        const lines = document.querySelector('[role="log"]')?.innerText ?? "";
        if (wanted.test(lines)) resolve(performance.now());
        else requestAnimationFrame(look);
      };
      look();
    });
  }, pattern);

/** Opens an address; when a line that fits was seen, after it was asked for. */
async function opened(address, pattern) {
  await page.goto("about:blank");
  await page.goto(address, { waitUntil: "commit" });
  return shown(pattern);
}

/** From the click or the key that `act` makes until a line that fits is seen. */
async function between(act, pattern) {
  await page.evaluate(() => {
    const note = ({ timeStamp }) => (window.actedAt = timeStamp);
    for (const kind of ["click", "keydown"]) addEventListener(kind, note, { capture: true });
  });
  await act();
  const at = await shown(pattern);
  return at - (await page.evaluate(() => window.actedAt));
}

/** The longest time between two frames while `act` is running, and the number of frames without a line. */
async function framesOf(act) {
  await page.evaluate(() => {
    window.seen = { longest: 0, frames: 0, blank: 0, last: performance.now() };
    const look = (at) => {
      const { seen } = window;
      seen.longest = Math.max(seen.longest, at - seen.last);
      seen.last = at;
      seen.frames++;
      const box = document.querySelector('[role="log"]').getBoundingClientRect();
      const there = document.elementFromPoint(box.left + 60, box.top + box.height / 2);
      if (there.closest('[role="log"] > div > div') === null) seen.blank++;
      window.going = requestAnimationFrame(look);
    };
    window.going = requestAnimationFrame(look);
  });
  await act();
  return page.evaluate(() => {
    cancelAnimationFrame(window.going);
    return window.seen;
  });
}

async function wheel(by, times) {
  const box = await log.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let i = 0; i < times; i++) {
    await page.mouse.wheel(0, by);
    await page.waitForTimeout(16);
  }
}

// Opens the log at its end: from navigation to the last lines.
figures.opened = await opened(`${url}/trials/${trial}/logs`, "tick \\d+");

// New lines, which contain the time when they were printed.
figures.followed = await page.evaluate(async () => {
  const lags = [];
  const newest = () => {
    const ticks = document.querySelector('[role="log"]').innerText.match(/tick \d+/g) ?? [];
    return Number(ticks.at(-1)?.slice(5) ?? 0);
  };
  for (let last = newest(); lags.length < 20; await new Promise(requestAnimationFrame)) {
    const at = newest();
    if (at !== last) lags.push(Date.now() - at);
    last = at;
  }
  return Math.max(...lags);
});

const upwards = await framesOf(() => wheel(-1500, 300));
figures.frame = upwards.longest;
figures.blank = (100 * upwards.blank) / upwards.frames;

const press = (name) => () => page.getByRole("button", { name, exact: true }).click();
figures.start = await between(press("Start"), "line 0 of many$");
await page.waitForTimeout(200); // Waits until the log is idle before scrolling.
const downwards = await framesOf(() => wheel(1500, 300));
figures.frame = Math.max(figures.frame, downwards.longest);
figures.blank = Math.max(figures.blank, (100 * downwards.blank) / downwards.frames);

figures.error = await between(press("Next error"), "ERROR: no loss$");
figures.link = await opened(page.url(), "ERROR: no loss$");

await page.getByLabel("Regular expression").check();
await page.getByRole("searchbox").fill("line 7654[0-9]{2} ");
figures.search = await between(() => page.keyboard.press("Enter"), "line 765400 of many$");

await browser.close();
console.log(JSON.stringify(figures));
