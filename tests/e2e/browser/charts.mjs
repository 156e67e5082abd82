// Charts: the address keeps the view, keys move and zoom, and the data can be exported as files.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";

const { EXPERIMENT: experiment, PASSWORD: password } = process.env;

await inBrowser(async (page) => {
  const { csv, download } = makeHelpers(page);
  await page.goto(`${url}/experiments/${experiment}`);
  await signIn(page, "admin", password);
  const chart = page.getByRole("application");
  await chart.locator("canvas").waitFor();
  const all = page.getByRole("button", { name: "Reset zoom" });
  const isAt = (pattern) => page.waitForURL((address) => pattern.test(address.search));

  // Dragging zooms in; Back undoes each step.
  const over = chart.locator(".u-over");
  const { x, y } = await over.boundingBox();
  await page.mouse.move(x + 100, y + 50);
  await page.mouse.down();
  await page.mouse.move(x + 300, y + 50, { steps: 4 });
  await page.mouse.up();
  await isAt(/zoom=[\d.]+\.\.[\d.]+/);
  await page.getByLabel("Log scale").check();
  await isAt(/log=validation.loss/);
  const address = page.url();
  await page.goBack();
  await page.getByRole("checkbox", { name: "Log scale", checked: false }).waitFor();
  await all.waitFor();
  await page.goBack();
  await all.waitFor({ state: "detached" });
  // The address reproduces the view.
  await page.goto(address);
  await page.getByRole("checkbox", { name: "Log scale", checked: true }).waitFor();
  await all.waitFor();
  await over.dblclick();
  await isAt(/^(?!.*zoom)/);
  await all.waitFor({ state: "detached" });
  const slider = page.getByLabel("Smoothing");
  await slider.focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
  await isAt(/smooth=validation.loss%3A0.03/);

  // Keyboard only; a live region announces the position. The loss at step n is 1 + 1/n.
  const said = page.getByRole("figure").getByRole("status");
  await page.mouse.move(0, 0); // A mouse that rests on a chart gets an event on every draw.
  await page.goto(`${url}/experiments/${experiment}`);
  await chart.locator("canvas").waitFor();
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  await said.getByText(/^batches 1: trial \d+ 2/).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Escape");
  await said.getByText(/^batches/).waitFor({ state: "detached" });
  await page.keyboard.press("ArrowLeft");
  await said.getByText(/^batches \d\d+: trial \d+ 1\.0/).waitFor();
  await page.keyboard.press("+");
  await isAt(/zoom=/);
  await page.keyboard.press("0");
  await isAt(/^(?!.*zoom)/);
  await inspect(page, "chart");

  const points = await csv(
    page.getByRole("button", { name: "Export validation loss as CSV" }),
    "trial,batches,epoch,time,loss",
  );
  assert.match(points.lines[0], /^\d+,1,0.1,\d{4}-[^,]+Z,2$/);
  const png = await download(page.getByRole("button", { name: "Export validation loss as PNG" }));
  assert.equal(png.bytes.toString("latin1", 1, 4), "PNG");
  const svg = await download(page.getByRole("button", { name: "Export validation loss as SVG" }));
  assert.match(svg.bytes.toString(), /^<svg .*<rect/s);

  // Epochs as x axis on the experiment's page, time on the comparison of two trials.
  await page.getByLabel("X axis").selectOption("epochs");
  await page.getByRole("application", { name: /by epochs/ }).waitFor();
  const [first, second] = process.env.TRIALS.split(",");
  await page.goto(`${url}/compare?trials=${first},${second}&x=time`);
  const compared = page.getByRole("application", { name: /^Chart of validation loss by time/ });
  await compared.locator("canvas").waitFor();
  // The curve grows: the newest point becomes later.
  const newest = async () => {
    await compared.focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowLeft");
    return page.getByRole("figure").filter({ has: compared }).getByRole("status").innerText();
  };
  const was = await newest();
  while ((await newest()) === was) await page.waitForTimeout(200);
});
