// An experiment that runs outside of the cluster: it is marked, and has no actions that only the cluster could
// perform.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

await inBrowser(async (page) => {
  const { button, call } = makeHelpers(page);
  await page.goto(url);
  await signIn(page, "admin", process.env.PASSWORD);
  await page.locator("summary", { hasText: "Signed in as admin" }).waitFor();
  const { experiment } = await call("POST", "/api/v1/experiments", {
    config: "{name: on-a-laptop, searcher: {name: single, metric: loss}}",
    unmanaged: true,
    projectId: 1,
  });
  const { trial } = await call("POST", "/api/v1/trials", {
    experimentId: experiment.id,
    hparams: { lr: 0.5 },
    unmanaged: true,
  });
  const { trialRunId } = await call("POST", `/api/v1/trials/${trial.id}/start`, { resume: false });
  for (const stepsCompleted of [1, 2]) {
    const metrics = { avgMetrics: { loss: 1 / stepsCompleted } };
    await call("POST", `/api/v1/trials/${trial.id}/metrics`, {
      metrics: { trialId: trial.id, trialRunId, stepsCompleted, metrics },
      group: "validation",
    });
  }

  await page.goto(`${url}/experiments`);
  const row = page.getByRole("row", { name: /on-a-laptop unmanaged/ });
  await row.waitFor();
  await inspect(page, "experiments-unmanaged");
  await row.getByRole("link", { name: "on-a-laptop" }).click();
  const badge = page.getByText("unmanaged", { exact: true });
  await badge.waitFor();
  assert.match(await badge.getAttribute("title"), /^Runs outside of the cluster/);
  await button("Edit").waitFor();
  for (const name of ["Pause", "Activate", "Cancel", "Kill", "Continue"])
    assert.equal(await button(name).count(), 0, name);
  assert.equal(await page.getByRole("link", { name: "Fork" }).count(), 0);
  await page.getByText(/^best 0.5/).waitFor();
  await inspect(page, "experiment-unmanaged");
  const sections = page.getByRole("navigation", { name: "Experiment sections" });
  await sections.getByRole("link", { name: "Code" }).click();
  await page.getByText(/cluster, which has no files of it/).waitFor();
  await sections.getByRole("link", { name: "Searcher" }).click();
  await page.getByText(/runs no search for an unmanaged experiment/).waitFor();

  await page.goto(`${url}/trials/${trial.id}`);
  await badge.waitFor();
  assert.equal(await button("Kill").count(), 0);
  await inspect(page, "trial-unmanaged");
  // The page follows what the program reports.
  await call("PATCH", `/api/v1/trials/${trial.id}`, {
    trialId: trial.id,
    state: "STATE_COMPLETED",
  });
  await page.getByText(/Completed$/).waitFor();
  await page.goto(`${url}/experiments/${experiment.id}`);
  await button("Archive").waitFor();
});
