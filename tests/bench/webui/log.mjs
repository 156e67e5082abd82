// Measures a log of a million lines in Chromium. Prints the figures by name, as JSON; `run_log` starts it.
import { openBrowser, url } from "./browser.mjs";

const { TRIAL: trial } = process.env;
const figures = {};

const { browser, context } = await openBrowser();
const page = await context.newPage();
page.setDefaultTimeout(60_000); // a bound against hanging
const log = page.getByRole("log");
const since = (began) => page.evaluate((at) => performance.now() - at, began);
const now = () => page.evaluate(() => performance.now());
const shown = (text) => log.getByText(text, { exact: true }).waitFor();

/** The longest time between two frames while `act` goes on, and how many showed no line. */
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

// Opened at its end, from the address to the last lines.
await page.goto(`${url}/trials/${trial}/logs`);
await log
  .getByText(/^tick \d+/)
  .first()
  .waitFor();
figures.opened = await now();

// What is printed meanwhile: the line says when it was.
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

let began = await now();
await page.getByRole("button", { name: "Start", exact: true }).click();
await shown("line 0 of many");
figures.start = await since(began);
await page.waitForTimeout(200); // the log is at rest before it is scrolled
const downwards = await framesOf(() => wheel(1500, 300));
figures.frame = Math.max(figures.frame, downwards.longest);
figures.blank = Math.max(figures.blank, (100 * downwards.blank) / downwards.frames);

began = await now();
await page.getByRole("button", { name: "Next error" }).click();
await shown("ERROR: no loss");
figures.error = await since(began);

const link = new URL(page.url());
await page.goto("about:blank");
await page.goto(link.href);
await shown("ERROR: no loss");
figures.link = await now();

await page.getByLabel("regular expression").check();
await page.getByRole("searchbox").fill("line 7654[0-9]{2} ");
began = await now();
await page.keyboard.press("Enter");
await shown("line 765400 of many");
figures.search = await since(began);

await browser.close();
console.log(JSON.stringify(figures));
