// Measures a log with a million lines in Chromium. Prints the results by name as JSON; started by `run_log`.
import { openBrowser, url } from "./browser.mjs";

const { TRIAL: trial } = process.env;
const figures = {};

const { browser, context } = await openBrowser();
const page = await context.newPage();
page.setDefaultTimeout(60_000); // detects hangs
const log = page.getByRole("log");

/**
 * Waits for a line that matches `pattern`; returns the time by the page's clock. Checks each frame, because
 * Playwright itself polls only twice per second after a while.
 */
const waitForLine = (pattern) =>
  page.evaluate((source) => {
    const regex = new RegExp(source, "m");
    return new Promise((resolve) => {
      const check = () => {
        const lines = document.querySelector('[role="log"]')?.innerText ?? "";
        if (regex.test(lines)) resolve(performance.now());
        else requestAnimationFrame(check);
      };
      check();
    });
  }, pattern);

/** Opens an address; returns the milliseconds from the navigation to a matching line. */
async function measureOpening(address, pattern) {
  await page.goto("about:blank");
  await page.goto(address, { waitUntil: "commit" });
  return waitForLine(pattern);
}

/** Returns the milliseconds from the click or key press of `act` to a matching line. */
async function measureAction(act, pattern) {
  await page.evaluate(() => {
    const record = ({ timeStamp }) => (window.actedAt = timeStamp);
    for (const kind of ["click", "keydown"]) addEventListener(kind, record, { capture: true });
  });
  await act();
  const at = await waitForLine(pattern);
  return at - (await page.evaluate(() => window.actedAt));
}

/** Returns the longest time between two frames during `act`, and the number of frames without a line. */
async function measureFrames(act) {
  await page.evaluate(() => {
    window.stats = { longest: 0, frames: 0, blank: 0, last: performance.now() };
    const check = (at) => {
      const { stats } = window;
      stats.longest = Math.max(stats.longest, at - stats.last);
      stats.last = at;
      stats.frames++;
      const box = document.querySelector('[role="log"]').getBoundingClientRect();
      const element = document.elementFromPoint(box.left + 60, box.top + box.height / 2);
      if (element.closest('[role="log"] > div > div') === null) stats.blank++;
      window.nextFrame = requestAnimationFrame(check);
    };
    window.nextFrame = requestAnimationFrame(check);
  });
  await act();
  return page.evaluate(() => {
    cancelAnimationFrame(window.nextFrame);
    return window.stats;
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
figures.opened = await measureOpening(`${url}/trials/${trial}/logs`, "tick \\d+");

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

const upwards = await measureFrames(() => wheel(-1500, 300));
figures.frame = upwards.longest;
figures.blank = (100 * upwards.blank) / upwards.frames;

const press = (name) => () => page.getByRole("button", { name, exact: true }).click();
figures.start = await measureAction(press("Start"), "line 0 of many$");
await page.waitForTimeout(200); // Waits until the log is idle before scrolling.
const downwards = await measureFrames(() => wheel(1500, 300));
figures.frame = Math.max(figures.frame, downwards.longest);
figures.blank = Math.max(figures.blank, (100 * downwards.blank) / downwards.frames);

figures.error = await measureAction(press("Next error"), "ERROR: no loss$");
figures.link = await measureOpening(page.url(), "ERROR: no loss$");

await page.getByLabel("Regular expression").check();
await page.getByRole("searchbox").fill("line 7654[0-9]{2} ");
figures.search = await measureAction(() => page.keyboard.press("Enter"), "line 765400 of many$");

await browser.close();
console.log(JSON.stringify(figures));
