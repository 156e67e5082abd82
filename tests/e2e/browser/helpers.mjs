// What a person does with a page: fills in a dialog, presses, waits for a row, keeps a file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inspect } from "./browser.mjs";

/** Hands for `page`: what it shows by name, its dialogs, and what its audit tells. */
export function helpersFor(page) {
  const button = (name) => page.getByRole("button", { name, exact: true });
  const dialog = page.getByRole("dialog");
  const field = (name) => dialog.getByLabel(name, { exact: true });
  const head = (name) => page.getByRole("heading", { level: 1, name, exact: true });
  const send = async (verb) => {
    await dialog.getByRole("button", { name: verb, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  };
  /** A dialog that the button `open` shows: filled in, looked at under the name `picture`, sent. */
  const ask = async (open, picture, values, verb) => {
    await button(open).click();
    for (const [name, value] of Object.entries(values)) {
      const input = field(name);
      const isChoice = await input.evaluate((it) => it.tagName === "SELECT");
      await (isChoice ? input.selectOption(value) : input.fill(value));
    }
    if (picture) await inspect(page, picture);
    await send(verb);
  };
  /** Agrees to the next question of the browser; gives what it asks. */
  const agree = () =>
    new Promise((resolve) =>
      page.once("dialog", async (question) => {
        await question.accept();
        resolve(question.message());
      }),
    );
  /** Presses what brings a file; gives its name and its bytes. */
  const download = async (target) => {
    const [file] = await Promise.all([page.waitForEvent("download"), target.click()]);
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
  };
  /** As download, of a CSV file: its lines without the head, which must be `head`. */
  const csv = async (target, head) => {
    const { name, bytes } = await download(target);
    const [first, ...lines] = bytes.toString("utf8").trimEnd().split(/\r?\n/);
    assert.equal(first, head, name);
    return { name, lines };
  };
  /** That the audit has what the admin did, once each. */
  const expectAudited = async (methods) => {
    // Of the head and one record: what was shown before is still there for a moment.
    const table = page.locator('[role="table"][aria-rowcount="2"]');
    for (const method of methods) {
      await page.getByLabel("Method").fill(method);
      await page.keyboard.press("Enter");
      await table.getByRole("row", { name: new RegExp(`admin ${method}`) }).waitFor();
    }
  };
  return { button, field, head, ask, send, agree, download, csv, expectAudited };
}
