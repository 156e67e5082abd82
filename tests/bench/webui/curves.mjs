// How fast the dashboard draws the learning curves of 500 trials, and how smoothly they are moved: an
// experiment's page in Chromium, with answers that are made here. Usage: run
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname } from "node:path";

const require = createRequire(`${process.env.WEBUI}/package.json`);
const { chromium } = require("playwright-core");
const dist = process.env.DIST;
const [trials, points] = [500, 1000];

const experiment = {
  ...{ id: 1, name: "curves", state: "STATE_COMPLETED", searcherMetric: "loss", numTrials: trials },
  config: { searcher: { metric: "loss" } },
};

/** As a master says it: a line. */
function sample() {
  let seed = 1;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const list = Array.from({ length: trials }, (_, i) => {
    const floor = random();
    const data = Array.from({ length: points }, (_, at) => ({
      batches: (at + 1) * 100,
      values: { loss: floor + 2 * Math.exp(-at / 200) + 0.1 * random() },
      time: new Date(1.7e12 + at * 1000).toISOString(),
      epoch: at / 10,
    }));
    return { trialId: i + 1, hparams: { lr: random() }, data };
  });
  return JSON.stringify({ result: { trials: list } }) + "\n";
}

const curves = sample();
const metricNames = [{ group: "validation", name: "loss" }];
const answers = {
  "/api/v1/me": '{"user":{"id":1,"username":"admin"}}',
  "/api/v1/overview": 'data: {"result":{"agents":1,"slots":8,"pools":[]}}\n\n',
  "/api/v1/experiments/1": JSON.stringify({ experiment }),
  "/api/v1/experiments/1/watch": `data: ${JSON.stringify({ result: { experiment } })}\n\n`,
  "/api/v1/experiments/metrics-stream/metric-names": JSON.stringify({ result: { metricNames } }),
  "/api/v1/experiments/1/metrics-stream/trials-sample": curves,
};
const types = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://localhost");
  if (pathname in answers) return response.end(answers[pathname]);
  const isFile = extname(pathname) && existsSync(dist + pathname);
  response.setHeader("Content-Type", isFile ? (types[extname(pathname)] ?? "") : "text/html");
  return createReadStream(isFile ? dist + pathname : `${dist}/index.html`).pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}`;

/** In the page: when the data were there, and when the last curve was drawn. */
function watchPage() {
  localStorage.setItem("signedIn", "yes");
  window.figures = { strokes: 0 };
  const parse = JSON.parse;
  JSON.parse = (text, ...rest) => {
    const begin = performance.now();
    const value = parse(text, ...rest);
    if (text.length > 1e6) Object.assign(window.figures, { begin, parsed: performance.now(), strokes: 0 });
    return value;
  };
  const { stroke } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.stroke = function (...path) {
    stroke.apply(this, path);
    if (!window.figures.parsed) return;
    window.figures.strokes++;
    window.figures.drawn = performance.now();
  };
}

/** The longest time between two frames while the pointer moves; `act` does it. */
async function longestFrame(page, act) {
  await page.evaluate(() => {
    window.frames = [];
    const next = (at) => {
      window.frames.push(at);
      window.going = requestAnimationFrame(next);
    };
    window.going = requestAnimationFrame(next);
  });
  await act();
  return page.evaluate(() => {
    cancelAnimationFrame(window.going);
    const gaps = window.frames.slice(1).map((at, i) => at - window.frames[i]);
    return Math.round(Math.max(...gaps));
  });
}

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
});
const drawn = [];
const afterLast = [];
let frames = {};
for (let round = 0; round < 5; round++) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.addInitScript(watchPage);
  let profiler;
  if (process.env.PROFILE && round === 2) {
    profiler = await page.context().newCDPSession(page);
    await profiler.send("Profiler.enable");
    await profiler.send("Profiler.start");
  }
  await page.goto(`${url}/experiments/1`);
  await page.waitForFunction((wanted) => window.figures.strokes >= wanted, trials);
  await page.waitForTimeout(500);
  if (profiler) {
    const { profile } = await profiler.send("Profiler.stop");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(process.env.PROFILE, JSON.stringify(profile));
  }
  const told = await page.evaluate(() => window.figures);
  drawn.push(told.drawn - told.parsed);
  afterLast.push(told.drawn - told.begin);
  if (round === 4) {
    const box = await page.locator("figure .u-over").boundingBox();
    const [y, from, to] = [box.y + box.height / 2, box.x + box.width * 0.7, box.x + box.width * 0.3];
    const drag = async () => {
      await page.mouse.move(from, y);
      await page.mouse.down();
      for (let i = 1; i <= 60; i++) await page.mouse.move(from + ((to - from) * i) / 60, y);
    };
    frames.hover = await longestFrame(page, async () => {
      for (let i = 0; i < 60; i++) await page.mouse.move(from - i * 4, y);
    });
    await page.keyboard.down("Shift");
    frames.pan = await longestFrame(page, drag);
    frames.panEnd = await longestFrame(page, () => page.mouse.up());
    await page.keyboard.up("Shift");
    frames.zoom = await longestFrame(page, drag);
    frames.zoomEnd = await longestFrame(page, () => page.mouse.up());
  }
  await page.close();
}
await browser.close();
server.close();

const median = (list) => Math.round(list.sort((a, b) => a - b)[Math.floor(list.length / 2)]);
console.log(`${trials} curves of ${points} points (${(curves.length / 1e6).toFixed(0)} MB of JSON)`);
console.log(`drawn ${median(drawn)} ms after they were read (asked: 300), ` +
  `${median(afterLast)} ms after their last byte`);
console.log(`longest frame: ${JSON.stringify(frames)} ms (asked: 33)`);
