// How users find things: the palette, filters as they are typed, popovers, colours and numbers of tables, what the
// bulk bar offers, and the table of members on a phone.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

// Experiments that are newer than `oldest`, so that it is not on the home page.
const NEWER = 12;

await inBrowser(async (page) => {
  const { button, call } = makeHelpers(page);
  const table = (name) => page.getByRole("table", { name });
  const rows = (name) => table(name).locator('[role="row"][aria-rowindex]');
  const open = (what) => page.locator("summary", { hasText: what });
  const count = (text) => page.getByText(text, { exact: true });
  const sentence = page.getByLabel("Filter", { exact: true });
  const filter = async (text) => {
    await sentence.fill(text);
    await sentence.press("Enter");
  };
  /** Opens the panel and closes it again. Just after it opens, the page does not listen yet: acts again. */
  const openAndClose = async (what, act) => {
    await open(what).click();
    const panel = await page.locator("details", { has: open(what) }).elementHandle();
    await page.waitForFunction((it) => it.open, panel);
    for (let tries = 0; await panel.evaluate((it) => it.open); ++tries) {
      assert.ok(tries < 20, `${what} stays open`);
      await act();
      await page.waitForFunction((it) => !it.open, panel, { timeout: 1000 }).catch(() => {});
    }
  };

  /** Reports an experiment whose trials have ended with these values of its metric; returns its and their IDs. */
  const report = async (name, metric, smallerIsBetter, trials, more = {}) => {
    const searcher = {
      name: "random",
      metric,
      smaller_is_better: smallerIsBetter,
      max_trials: 9,
      max_length: 1,
    };
    const { experiment } = await call("POST", "/api/v1/experiments", {
      config: JSON.stringify({ name, searcher, ...more }),
      unmanaged: true,
      projectId: 1,
    });
    const ids = [];
    for (const { hparams = {}, value } of trials) {
      const { trial } = await call("POST", "/api/v1/trials", {
        experimentId: experiment.id,
        hparams,
        unmanaged: true,
      });
      const path = `/api/v1/trials/${trial.id}`;
      const { trialRunId } = await call("POST", `${path}/start`, { resume: false });
      for (const group of ["training", "validation"]) {
        const metrics = { avgMetrics: { [metric]: value } };
        const body = { trialId: trial.id, trialRunId, stepsCompleted: 1, metrics };
        await call("POST", `${path}/metrics`, { metrics: body, group });
      }
      await call("PATCH", path, { trialId: trial.id, state: "STATE_COMPLETED" });
      ids.push(trial.id);
    }
    return { id: experiment.id, trials: ids };
  };

  await page.goto(`${url}/experiments`);
  await signIn(page, "admin", process.env.PASSWORD);
  await page.locator("summary", { hasText: "Signed in as admin" }).waitFor();
  const { id: old } = await report("oldest", "loss", true, [{ value: 3 }]);
  const hparams = { lr: 0.0004474942081187, optimizer: { lr: 0.5, name: "adam" } };
  const of = { hyperparameters: { lr: { type: "log", base: 10, minval: -4, maxval: -1 } } };
  const { id: search } = await report(
    "searches",
    "loss",
    true,
    [3, 2, 4].map((value) => ({ hparams, value })),
    { labels: ["vision"], ...of },
  );
  for (let i = 0; i < NEWER; i++) await report("other", "loss", true, [{ value: 3 }]);
  const { id: loss } = await report("by-loss", "loss", true, [{ value: 0.5 }]);
  const { id: accuracy, trials } = await report("by-accuracy", "accuracy", false, [
    { value: 0.95 },
  ]);
  await report("worse-accuracy", "accuracy", false, [{ value: 0.25 }]);
  const [lastTrial] = trials;

  await page.goto(`${url}/experiments`);
  await rows("Experiments").first().waitFor();

  // The palette finds each kind of object through the master, and offers an ID only as what exists.
  const goTo = async (query) => {
    await page.keyboard.press("Control+k");
    const input = page.getByRole("combobox", { name: /^Page, experiment/ });
    await input.fill(query);
    const results = page.getByRole("listbox", { name: "Results" });
    await results.and(page.locator(`[data-query="${query}"][aria-busy="false"]`)).waitFor();
    const options = await results.getByRole("option").allInnerTexts();
    await page.keyboard.press("Escape");
    return options.map((text) => text.replaceAll("\n", " "));
  };
  await call("POST", "/api/v1/models", { name: "resnet" });
  assert.deepEqual(await goTo("oldest"), [`${old} oldest experiment`]);
  assert.deepEqual(await goTo("resn"), ["resnet model"]);
  assert.ok((await goTo("determ")).includes("determined user"));
  const trial = (await goTo(String(lastTrial))).filter((each) => /trial$/.test(each));
  assert.deepEqual(trial, [`Trial ${lastTrial} of ${accuracy} by-accuracy trial`]);
  assert.ok((await goTo(String(old))).includes(`${old} oldest experiment`));
  assert.deepEqual(await goTo("99999"), [], "an ID that does not exist is offered");
  await page.keyboard.press("Control+k");
  await page.keyboard.type(`trial ${lastTrial}`);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${url}/trials/${lastTrial}`);

  // Filters resolve names as users mean them; the example in the empty field works.
  await page.goto(`${url}/experiments`);
  await rows("Experiments").first().waitFor();
  const total = await page.getByText(/^\d+ experiments$/).innerText();
  await filter(await sentence.getAttribute("placeholder"));
  await count("0 experiments").waitFor();
  for (const text of [
    "lr < 1",
    "optimizer.lr < 1",
    "name ~ sear",
    "labels is vision",
    "labels ~ vision",
  ]) {
    await filter("id < 0");
    await count("0 experiments").waitFor();
    await filter(text);
    await count("1 experiment").waitFor();
    await table("Experiments")
      .getByRole("link", { name: String(search), exact: true })
      .waitFor();
  }
  await filter("id < 0");
  await count("0 experiments").waitFor();
  await filter("accuracy > 0.9");
  await count("1 experiment").waitFor();
  await table("Experiments")
    .getByRole("link", { name: String(accuracy), exact: true })
    .waitFor();

  // On an error, neither rows nor a number pretend to be the answer, and the toolbar stays in place.
  const getPlaces = async () => {
    const controls = [sentence, open("Conditions"), open("Columns"), open("Views")];
    return JSON.stringify(await Promise.all(controls.map((each) => each.boundingBox())));
  };
  const before = await getPlaces();
  await filter("accurcy > 0.9");
  await button("validation.accuracy").waitFor();
  assert.equal(await rows("Experiments").count(), 0, "rows of the previous filter are shown");
  assert.equal(await page.getByText(/\d experiments?$/).count(), 0, "the previous number is shown");
  assert.equal(await getPlaces(), before, "the toolbar has moved");
  await inspect(page, "filter-error");
  await button("validation.accuracy").click();
  await count("1 experiment").waitFor();
  assert.equal(await sentence.inputValue(), "validation.accuracy > 0.9");
  await filter("");
  await count(total).waitFor();

  // Popovers close by Esc and by a click outside; the user's menu, too.
  for (const what of ["Conditions", "Columns", "Views", "Signed in as"]) {
    await openAndClose(what, () => page.keyboard.press("Escape"));
    await openAndClose(what, () => page.mouse.click(640, 780));
  }

  // While the columns are being loaded, their heads have the same words and alignment as afterwards.
  const columns = "id,numTrials,tags,searcherMetricsVal,hp.optimizer.name";
  const readHeads = () =>
    table("Experiments")
      .getByRole("columnheader")
      .evaluateAll((heads) =>
        heads.map((each) => `${each.innerText.trim()} ${getComputedStyle(each).textAlign}`),
      );
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/\/columns/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${url}/experiments?columns=${columns}&heat=searcherMetricsVal`);
  await table("Experiments").waitFor();
  const early = await readHeads();
  release();
  await table("Experiments").getByRole("button", { name: "optimizer.name" }).waitFor();
  await page.unroute(/\/columns/);
  const late = await readHeads();
  assert.ok(late.includes("Labels start") && late.includes("Trials right"), late.join());
  assert.deepEqual(early.slice(0, -1), late.slice(0, -1), "the heads change when they are loaded");

  // Colours compare values of the same metric, and the best is the darkest for losses and accuracies alike.
  const heat = (id) =>
    table("Experiments")
      .getByRole("row")
      .filter({ has: page.getByRole("link", { name: String(id), exact: true }) })
      .getByRole("cell")
      .nth(4);
  const getColour = async (id) => heat(id).evaluate((it) => getComputedStyle(it).backgroundColor);
  const darkest = "rgb(68, 1, 84)";
  await heat(loss).locator("span").first().waitFor();
  await page.waitForFunction(() => document.querySelector('[title="smaller is better"]'));
  assert.equal(await getColour(loss), darkest, "the smallest loss is not the best");
  assert.equal(await getColour(accuracy), darkest, "the largest accuracy is not the best");
  assert.notEqual(await getColour(search), darkest, "a larger loss is as good");

  // Trials have the same colours, although their rows do not say which values are better.
  await page.goto(
    `${url}/experiments?of=runs&columns=id,experimentName,searcherMetricsVal,hp.lr&heat=searcherMetricsVal`,
  );
  await page.waitForFunction(() => document.querySelector('[title="smaller is better"]'));
  // Numbers have four digits; the tooltip has all.
  const lr = table("Trials").locator('[role="cell"] span[title^="0.0004474942"]').first();
  assert.equal(await lr.innerText(), "4.475e-4");
  await inspect(page, "heat-by-metric");

  // The trials of an experiment: short numbers; a selection does not move the table.
  await page.goto(`${url}/experiments/${search}/trials`);
  const cell = table("Trials").locator('span[title^="0.0004474942"]').first();
  assert.equal(await cell.innerText(), "4.475e-4");
  const top = (await table("Trials").boundingBox()).y;
  await table("Trials")
    .getByRole("checkbox", { name: /^Select \d+$/ })
    .first()
    .check();
  await page.getByText(/^1 selected/).waitFor();
  assert.equal((await table("Trials").boundingBox()).y, top, "the selection pushes the table");

  // The bulk bar offers only what applies, with the reason.
  await page.goto(`${url}/experiments`);
  await table("Experiments")
    .getByRole("checkbox", { name: `Select ${old}`, exact: true })
    .check();
  const bar = page.getByRole("toolbar", { name: "Selected rows" });
  const verb = (name) => bar.getByRole("button", { name, exact: true });
  await page.waitForFunction(() =>
    [...document.querySelectorAll("button")].some(
      (it) => it.innerText === "Archive" && !it.disabled,
    ),
  );
  for (const name of ["Pause", "Activate", "Cancel", "Kill"]) {
    assert.ok(await verb(name).isDisabled(), `${name} is offered for an ended experiment`);
    assert.equal(await verb(name).getAttribute("title"), `${name} does not apply: 1 ended`);
  }
  assert.ok(await verb("Delete").isEnabled());
  await inspect(page, "bulk-applicable");
  await verb("Archive").click();
  await bar.getByText("1 archived").waitFor();
  assert.equal(await bar.getByText("1 selected").count(), 0, "an archived row is still selected");

  // On a phone, the buttons of a member are next to each other and can be reached.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${url}/workspaces/1/members`);
  const members = page.getByRole("table", { name: /^Members of/ });
  for (const name of ["Change role", "Remove"]) {
    const target = members.getByRole("button", { name }).first();
    await target.waitFor();
    await members.evaluate((it) => it.scrollTo(it.scrollWidth, 0));
    const isReachable = await target.evaluate((it) => {
      const { left, right, top, bottom, width } = it.getBoundingClientRect();
      const row = it.closest('[role="row"]').getBoundingClientRect();
      const isInRow = top >= row.top && bottom <= row.bottom;
      const points = [left + 2, left + width / 2, right - 2];
      const middle = (top + bottom) / 2;
      return isInRow && points.every((x) => document.elementFromPoint(x, middle) === it);
    });
    assert.ok(isReachable, `${name} is covered or cut off`);
  }
  await inspect(page, "members-narrow");
});
