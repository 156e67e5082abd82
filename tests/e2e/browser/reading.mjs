// What a page shows can be read: colours and progress bars in a log, icons, addresses of Determined's pages, counts,
// the values of a dialog, refusals, and the state of the connection.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const { BARS_TRIAL, RUNNING, FAILED_TRIAL, PASSWORD, DET } = process.env;

await inBrowser(async (page) => {
  const { button, download } = makeHelpers(page);
  await page.goto(`${url}/det/login?redirect=/det/projects/1/experiments`);
  await page.getByText("Forgot your password? Ask an administrator to run").waitFor();
  await signIn(page, "admin", PASSWORD);
  await page.waitForURL(`${url}/experiments?project=1`);

  const addresses = {
    "/det": "/",
    "/det/dashboard": "/",
    [`/det/experiments/${RUNNING}/visualization/hp-heat-map`]: `/experiments/${RUNNING}/hyperparameters`,
    [`/det/experiments/1/trials/${BARS_TRIAL}`]: `/trials/${BARS_TRIAL}`,
    "/det/clusters/historical-usage": "/cluster/usage",
    "/det/jobs": "/cluster",
    "/det/admin/group-management": "/admin/groups",
    [`/det/experiments/1/trials/${BARS_TRIAL}/logs?level=LOG_LEVEL_ERROR&searchText=x`]: `/trials/${BARS_TRIAL}/logs?level=ERROR&text=x`,
  };
  for (const [from, to] of Object.entries(addresses)) {
    await page.goto(`${url}${from}`);
    await page.waitForURL(`${url}${to}`);
    assert.equal(await page.getByText("Page not found").count(), 0, `${from} leads to a page`);
  }

  // Only letters, digits and punctuation, which every font has; icons are drawn.
  for (const path of ["/", "/experiments", "/cluster", `/trials/${FAILED_TRIAL}/runs`, "/admin/audit"]) {
    await page.goto(`${url}${path}`);
    await page.getByRole("link", { name: "Workspaces" }).waitFor();
    await page.locator("main").getByText(/\w/).first().waitFor();
    const found = await page.evaluate(() => document.body.innerText.match(/[^\p{ASCII}\p{L}–…·]/gu));
    assert.equal(found, null, `${path} has no characters in place of icons`);
  }
  const icons = page.getByRole("navigation", { name: "Main navigation" }).locator("a > svg");
  assert.equal(await icons.count(), 7, "each entry of the navigation has a drawn icon");
  for (const icon of await icons.all()) assert.ok((await icon.boundingBox()).width >= 14);

  // Pages say in the terms of the field what they show.
  const wordings = [
    ["/nowhere", "Page not found"],
    ["/experiments", "Show archived"],
    ["/models", "Show archived"],
    [`/experiments/${RUNNING}/fork`, "Configuration is valid."],
    ["/admin/policies", "Settings enforced on every experiment"],
    ["/admin/policies", "Cluster policies override workspace policies."],
    ["/admin/templates", "Workspace editors can change it."],
    ["/admin/audit", "Action"],
    ["/admin/audit", "Target"],
  ];
  for (const [path, words] of wordings) {
    await page.goto(`${url}${path}`);
    await page.locator("main").getByText(words).first().waitFor();
  }

  // The first line has a date.
  await page.goto(`${url}/trials/${BARS_TRIAL}/logs`);
  const log = page.getByRole("log");
  await log.getByText("the end").waitFor();
  const lines = await log.locator("> div > div").allInnerTexts();
  const text = lines.join("\n");
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(text, /[\x00-\x08\x0b-\x1f]|\[\d*m/, "a log shows no control sequences");
  const count = (part) => lines.filter((line) => line.includes(part)).length;
  assert.equal(count("epoch 1"), 1, `a progress bar is one line:\n${text}`);
  assert.ok(count("4/4") === 1, "a progress bar shows its last state");
  assert.equal(count("epochs"), 1, "an outer bar is one line");
  assert.equal(count("batches"), 0, "an inner bar is removed");
  assert.deepEqual([count("train"), count("valid")], [1, 1], "each bar of rich is one line");
  const style = (part) =>
    log
      .getByText(part, { exact: true })
      .first()
      .evaluate((it) => [getComputedStyle(it).color, getComputedStyle(it).fontWeight]);
  const [plain] = await style("the end");
  const [red, weight] = await style("loss");
  assert.ok(red !== plain && weight === "700", "colours and weights are shown");
  await inspect(page, "log-bars");

  const starts = await log
    .locator("> div > div")
    .evaluateAll((rows) => rows.map((row) => row.lastElementChild.getBoundingClientRect().left));
  assert.equal(new Set(starts).size, 1, "all lines begin at the same place");
  await log.getByTitle(/link to this line/).nth(2).click();
  const marked = log.locator("[aria-current]");
  await marked.waitFor();
  const width = await log.evaluate((it) => it.clientWidth);
  assert.ok((await marked.boundingBox()).width >= width, "the marked line is tinted to its end");

  const copied = await log.evaluate((it) => {
    getSelection().selectAllChildren(it);
    return getSelection().toString();
  });
  assert.match(copied, /^the end$/m, "a copied line is what the program printed");
  assert.doesNotMatch(copied, /\x1b|\d\d:\d\d:\d\d\.\d{3}/, "copied lines have no times");
  const { name, bytes } = await download(button("Download"));
  const file = bytes.toString("utf8");
  assert.equal(name, `trial-${BARS_TRIAL}.log`);
  assert.match(file, /^\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d loss 0\.25$/m, file);
  assert.doesNotMatch(file, /[\x1b\r]/, "the downloaded log is plain text");
  assert.equal(file.match(/epoch 1/g).length, 1);

  await page.goto(`${url}/trials/${FAILED_TRIAL}`);
  await page.getByText("1 restart", { exact: true }).waitFor();
  await page.getByText("its only restart is used up").waitFor();

  // Editing shows the current values, and sends only the changed ones.
  await page.goto(`${url}/experiments/${RUNNING}?do=edit`);
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  assert.equal(await dialog.getByLabel("Priority").inputValue(), "30", "the dialog has the priority");
  assert.equal(await dialog.getByLabel("Max slots").inputValue(), "1");
  // A priority pool uses no weight.
  await dialog.getByLabel("Weight").waitFor({ state: "detached" });
  await dialog.getByLabel("Description").fill("waits");
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === "PATCH"),
    dialog.getByRole("button", { name: "Save" }).click(),
  ]);
  assert.deepEqual(sent.postDataJSON(), { description: "waits" });
  await dialog.waitFor({ state: "detached" });
});

// A user without the role: plain words, and the request behind "Details".
await inBrowser(async (page, watch) => {
  watch.expected = [/403/];
  await page.goto(`${url}/admin/audit`);
  await signIn(page, "determined", PASSWORD);
  const refusal = page.getByRole("alert");
  await refusal.getByText("Only cluster admins can see the audit log.").waitFor();
  assert.equal(await refusal.getByText(/Request ID/).isVisible(), false);
  assert.equal(await refusal.getByRole("button", { name: "Retry" }).count(), 0, "no useless Retry");
  await refusal.getByText("Details").click();
  assert.ok(await refusal.getByText(/Request ID [0-9a-f-]{36}/).isVisible());
});

// A tab whose code cannot be loaded leaves the page.
await inBrowser(async (page, watch) => {
  watch.expected = [/assets\/Notes/, /ERR_FAILED/];
  await page.route(/assets\/Notes.*\.js/, (route) => route.abort());
  await page.goto(`${url}/experiments/${RUNNING}`);
  await signIn(page, "admin", PASSWORD);
  await page.getByRole("link", { name: "Notes" }).click();
  await page.getByText("This part of the dashboard could not be loaded").waitFor();
  assert.ok(await page.getByRole("link", { name: "Overview" }).isVisible(), "the page stays");
  await page.unroute(/assets\/Notes.*\.js/);
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("No notes yet.").waitFor();
});

// Without a network the page says so, and its tabs still open, because their code was loaded ahead.
await inBrowser(async (page, watch) => {
  watch.expected = [
    /ERR_INTERNET_DISCONNECTED/,
    /ERR_CONNECTION/,
    /ERR_NETWORK/,
    /ERR_INCOMPLETE_CHUNKED_ENCODING/,
    /ERR_EMPTY_RESPONSE/,
    /50[234]/,
    /Failed to fetch/,
  ];
  const code = new Set();
  page.on("response", (response) => code.add(new URL(response.url()).pathname));
  await page.goto(`${url}/experiments/${RUNNING}`);
  await signIn(page, "admin", PASSWORD);
  await page.getByRole("link", { name: "Notes" }).waitFor();
  const isLoaded = (part) => [...code].some((path) => path.includes(`/assets/${part}`));
  for (let i = 0; !isLoaded("Webhooks") || !isLoaded("Configuration") || !isLoaded("Notes"); ++i) {
    assert.ok(i < 600, "the code of other pages is loaded when the browser is idle");
    await page.waitForTimeout(100);
  }
  await page.waitForFunction(() => {
    const loaded = performance.getEntriesByType("resource");
    return loaded.some((each) => /assets\/Configuration.*\.js/.test(each.name) && each.responseEnd > 0);
  });
  await page.context().setOffline(true);
  await page.getByText("No network connection.").waitFor();
  await page.getByRole("link", { name: "Configuration" }).click();
  await page.getByLabel("Show defaults").waitFor();
  await inspect(page, "offline");
  await page.context().setOffline(false);
  await page.getByText("No network connection.").waitFor({ state: "detached" });

  // A master that is away, and back.
  const { members } = JSON.parse(execFileSync(DET, ["deploy", "local", "status", "--json"]));
  process.kill(members.find((member) => member.name === "master").pid, "SIGKILL");
  await page.getByText("The master does not answer.").waitFor();
  execFileSync(DET, ["deploy", "local", "up", "--port", new URL(url).port, "--agents", "1", "--slots", "2"]);
  await page.getByText("The master does not answer.").waitFor({ state: "detached" });
});
