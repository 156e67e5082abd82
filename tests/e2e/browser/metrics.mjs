// What pages show of metrics that a curve cannot show (NaN, infinity, texts, lists, none), of experiments that
// wait or have failed, and of trials that a log policy labels; what charts tell of points, and export.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const { FAILED: failed, LABELLED: labelled, QUEUED: queued, SEARCH: search } = process.env;

await inBrowser(async (page) => {
  const { call, csv, download } = makeHelpers(page);
  await page.goto(url);
  await signIn(page, "admin", process.env.PASSWORD);
  await page.locator("summary", { hasText: "Signed in as admin" }).waitFor();
  const text = (words) => page.getByText(words, { exact: true });
  const note = page.getByRole("note");
  const chart = (name) => page.getByRole("figure").filter({ hasText: name }).first();

  /** Creates an unmanaged experiment; returns its ID and its trials with a function that reports metrics. */
  const makeExperiment = async (name, lrs) => {
    const { experiment } = await call("POST", "/api/v1/experiments", {
      config: `{name: ${name}, searcher: {name: single, metric: loss}}`,
      unmanaged: true,
      projectId: 1,
    });
    const trials = [];
    for (const lr of lrs) {
      const { trial } = await call("POST", "/api/v1/trials", {
        experimentId: experiment.id,
        hparams: { lr, optimizer: "adam" },
        unmanaged: true,
      });
      const { trialRunId } = await call("POST", `/api/v1/trials/${trial.id}/start`, {
        resume: false,
      });
      const report = (group, stepsCompleted, avgMetrics) =>
        call("POST", `/api/v1/trials/${trial.id}/metrics`, {
          metrics: { trialId: trial.id, trialRunId, stepsCompleted, metrics: { avgMetrics } },
          group,
        });
      trials.push({ id: trial.id, report });
    }
    return { id: experiment.id, trials };
  };
  const dataOf = (experiment) => `${url}/experiments/${experiment.id}`;

  // ---- NaN and infinite values, texts and lists
  const diverges = await makeExperiment("diverges", [0.0004474942081187, 0.0123456789]);
  const [first, second] = diverges.trials;
  for (const [step, loss] of [1, 0.5, "NaN", 0.25, "NaN", "Infinity"].entries()) {
    await first.report("validation", step + 1, {
      loss,
      matrix: [
        [1, step],
        [3, 4],
      ],
    });
    await first.report("training", step + 1, { loss: 2 - step / 10, verdict: `step ${step}` });
  }
  await second.report("validation", 3, { loss: 0.75 });

  await page.goto(dataOf(diverges));
  await note
    .getByText(/loss was NaN or infinite in 1 of 2 trials: \d+\. .* never the best/)
    .waitFor();
  await note.getByRole("link", { name: String(first.id) }).waitFor();
  await text(`NaN or infinite: trial ${first.id}`).waitFor();
  await inspect(page, "metrics-invalid");
  const getSvg = async (title) => {
    const button = page.getByRole("button", { name: `Export ${title} as SVG` });
    return (await download(button)).bytes.toString("utf8");
  };
  const crosses = /<path d="(M[^"]*m[^"]*)" stroke-width/.exec(await getSvg("validation loss"));
  assert.equal(crosses?.[1].match(/M/g).length, 3, "each NaN or infinite value has a mark");

  await page.goto(`${url}/trials/${first.id}`);
  await note.getByText(/not a finite number: NaN at 3, 5; ∞ at 6 \(batches\)/).waitFor();
  await page.getByRole("figure").getByText("NaN at 3, 5; ∞ at 6", { exact: true }).waitFor();
  await page.getByRole("row", { name: "6 [[1.0,5.0],[3.0,4.0]]" }).waitFor();
  await page.getByRole("row", { name: "6 step 5" }).waitFor();
  await inspect(page, "metrics-trial");

  await page.goto(`${dataOf(diverges)}?metric=validation.matrix`);
  await page.getByRole("row", { name: "6 [[1.0,5.0],[3.0,4.0]]" }).waitFor();
  await page.getByLabel("Metric").selectOption("training.loss");
  await page.getByRole("application", { name: /^Chart of training loss/ }).waitFor();

  const misnamed = await makeExperiment("misnamed", [0.1]);
  await misnamed.trials[0].report("validation", 1, { accuracy: 0.5 });
  await page.goto(dataOf(misnamed));
  await note.getByText(/No validation has reported the searcher metric loss.*accuracy/).waitFor();
  await page.goto(`${url}/trials/${misnamed.trials[0].id}`);
  await note.getByText(/No validation has reported the searcher metric loss/).waitFor();

  // ---- Nothing lengthens the document: it would scroll into blank space
  const staysInWindow = async (path) => {
    await page.goto(url + path);
    await page.getByRole("figure").first().locator("canvas").waitFor();
    await page.mouse.move(640, 300);
    await page.mouse.wheel(0, 20_000);
    await page.mouse.move(20, 300);
    await page.mouse.wheel(0, 20_000);
    await page.waitForTimeout(200);
    const { height, top } = await page.evaluate(() => ({
      height: document.documentElement.scrollHeight - innerHeight,
      top: scrollY,
    }));
    assert.deepEqual({ height, top }, { height: 0, top: 0 }, `${path} scrolls the document`);
  };
  await page.setViewportSize({ width: 1280, height: 400 });
  await staysInWindow(`/trials/${first.id}`);
  await staysInWindow(`/compare?trials=${first.id},${second.id}`);
  await page.setViewportSize({ width: 1280, height: 800 });

  // ---- Numbers are short, with all digits as tooltip
  const cell = page
    .getByRole("group", { name: "Hyperparameters" })
    .getByTitle("0.0004474942081187");
  assert.equal(await cell.innerText(), "4.475e-4", "a hyperparameter has four digits");

  // ---- Tooltip: by value, the nearest bold, also at a single point
  await page.goto(dataOf(diverges));
  const over = chart("validation loss").locator(".u-over");
  await over.waitFor();
  const { width, height } = await over.boundingBox();
  const hover = (share, up) => over.hover({ position: { x: width * share, y: height * (1 - up) } });
  const tooltip = page.getByRole("tooltip");
  const entries = () => tooltip.locator("div").allInnerTexts();
  const weight = (name) =>
    tooltip.locator("div", { hasText: name }).evaluate((it) => getComputedStyle(it).fontWeight);
  // From 1 to 6 batches; the loss at 2 is 0.5. Trial 2 has one point, at 3.
  await hover(0.39, 0.1);
  await tooltip.getByText("batches 3").waitFor();
  assert.deepEqual(
    (await entries()).map((entry) => entry.replace(/\s+/g, " ")),
    [`trial ${second.id} 0.75`, `trial ${first.id} NaN`],
    "the tooltip lists values in their order, those of a single point and NaN too",
  );
  assert.equal(await weight(`trial ${second.id}`), "600", "the nearest curve is bold");
  const placeOf = async () => (await tooltip.boundingBox()).x;
  const beside = await placeOf();
  await hover(0.41, 0.9);
  assert.equal(await placeOf(), beside, "the tooltip does not follow the pointer");
  await hover(0.9, 0.9);
  assert.ok((await placeOf()) < beside, "the tooltip is at the side without the pointer");

  // ---- Axes: names, no half batches; epochs only where there are some
  const labelsOf = (svg) => [...svg.matchAll(/text-anchor="middle">([^<]*)</g)].map(([, it]) => it);
  const labels = labelsOf(await getSvg("validation loss"));
  assert.ok(labels.includes("batches") && labels.includes("validation loss"), "axes have names");
  const epochs = page.getByLabel("X axis").locator("option", { hasText: "epochs" });
  const isDisabled = await epochs.evaluate((it) => it.disabled);
  assert.equal(isDisabled, true, "epochs cannot be selected if none were reported");
  assert.equal(await epochs.innerText(), "epochs (none reported)");
  await second.report("validation", 4, { loss: 0.7, epoch: 1 });
  await page.reload();
  await page.getByLabel("X axis").selectOption("epochs");
  await page.getByRole("application", { name: /by epochs/ }).waitFor();

  // ---- Exports: large, named by the experiment
  await page.goto(dataOf(diverges));
  await over.waitFor();
  const png = await download(page.getByRole("button", { name: /as PNG$/ }));
  assert.equal(png.name, `Experiment-${diverges.id}-diverges-validation-loss.png`);
  assert.equal(png.bytes.readUInt32BE(16), 1600, "a PNG has two pixels per CSS pixel");
  assert.match(await getSvg("validation loss"), />Experiment \d+ diverges</);
  await csv(page.getByRole("button", { name: /as CSV$/ }), "trial,batches,epoch,time,loss");

  // ---- The first metric: the searcher's, before the first validation that of training; it stays
  const begins = await makeExperiment("begins", [0.1]);
  const [only] = begins.trials;
  await only.report("training", 1, { "a/memory": 7, loss: 2 });
  await page.goto(dataOf(begins));
  await page.getByRole("application", { name: /^Chart of training loss/ }).waitFor();
  const ticks = labelsOf(await getSvg("training loss")).filter((each) => /^\d/.test(each));
  assert.deepEqual(ticks, ["1"], "there is no half batch");
  await only.report("validation", 1, { loss: 1 });
  await page.getByLabel("Metric").locator("option", { hasText: "validation loss" }).waitFor({
    state: "attached",
  });
  assert.equal(await page.getByLabel("Metric").inputValue(), "training.loss", "the chart stays");
  await page.reload();
  await page.getByRole("application", { name: /^Chart of validation loss/ }).waitFor();

  // ---- Experiments that failed or wait
  await page.goto(`${url}/experiments/${failed}`);
  await page.locator("main header").getByText(/^Error$/).waitFor();
  assert.equal(await page.getByRole("progressbar", { name: "Progress" }).count(), 0);
  assert.equal(await page.getByText("100 %").count(), 0, "a failed experiment has no progress");
  await page.goto(`${url}/experiments`);
  const progressOf = (name) => page.getByRole("row", { name }).getByText("100 %");
  await progressOf(/labelled/).waitFor();
  assert.equal(await progressOf(/fails/).count(), 0, "nor in the table");

  await page.goto(`${url}/experiments/${queued}`);
  await text("Waiting for").waitFor();
  await text("Submitted").waitFor();
  assert.equal(await text("Duration").count(), 0, "what waits has no duration");
  await page.goto(`${url}/experiments/${labelled}`);
  for (const fact of ["Submitted", "Waited", "Duration"]) await text(fact).waitFor();

  // ---- Log policies label trials
  const label = page.getByTitle('A line of its log matched the log policy "CUDA OOM".');
  await label.waitFor();
  await page.getByRole("link", { name: /^Trials/ }).click();
  const row = page.getByRole("table", { name: "Trials" }).getByRole("row", { name: /CUDA OOM/ });
  await row.getByRole("link").first().click();
  await page.getByRole("heading", { name: /^Trial \d+/ }).waitFor();
  await label.waitFor();
  const { columns } = await call("GET", "/api/v1/projects/1/columns?tableType=TABLE_TYPE_RUN");
  assert.ok(columns.some(({ column }) => column === "logPolicyMatched"));

  // ---- Checkboxes are level with their labels
  await page.goto(`${url}/experiments/${labelled}/configuration`);
  const box = page.getByLabel("Show defaults");
  const place = await box.boundingBox();
  const words = await box.locator("..").evaluate((label) => {
    const range = document.createRange();
    range.selectNodeContents(label.lastChild);
    const { y, height: high } = range.getBoundingClientRect();
    return { y, height: high };
  });
  const middle = ({ y, height: high }) => y + high / 2;
  assert.ok(Math.abs(middle(place) - middle(words)) < 3, "the checkbox is level with its label");

  // ---- The Search tab on a phone
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${url}/experiments/${search}/search`);
  const rung = page.getByRole("group", { name: "Bracket 1" }).getByRole("row").nth(1);
  await rung.waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.equal(wide, 390, "the table scrolls in its own box");
  assert.ok((await rung.boundingBox()).height < 120, "a row has several trials per line");
  await inspect(page, "metrics-search-narrow");
});
