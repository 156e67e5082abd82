// Steps that the scripts share: fill in a dialog, press a button, wait for a row, download a file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inspect, signIn } from "./browser.mjs";

/** Creates the helpers for `page`: locators by name, dialogs, API calls, downloads and audit records. */
export function makeHelpers(page) {
  const button = (name) => page.getByRole("button", { name, exact: true });
  const dialog = page.getByRole("dialog");
  const field = (name) => dialog.getByLabel(name, { exact: true });
  const head = (name) => page.getByRole("heading", { level: 1, name, exact: true });
  const send = async (verb) => {
    await dialog.getByRole("button", { name: verb, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  };
  /** Opens a dialog with the button `open`, fills it in, inspects it as `picture` if set, and submits it. */
  const fillDialog = async (open, picture, values, verb) => {
    await button(open).click();
    for (const [name, value] of Object.entries(values)) {
      const input = field(name);
      const isChoice = await input.evaluate((it) => it.tagName === "SELECT");
      await (isChoice ? input.selectOption(value) : input.fill(value));
    }
    if (picture) await inspect(page, picture);
    await send(verb);
  };
  /** Accepts the next prompt of the browser; returns its text. */
  const acceptPrompt = () =>
    new Promise((resolve) =>
      page.once("dialog", async (question) => {
        await question.accept();
        resolve(question.message());
      }),
    );
  /** Clicks `target`, which downloads a file; returns its name and bytes. */
  const download = async (target) => {
    const [file] = await Promise.all([page.waitForEvent("download"), target.click()]);
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
  };
  /** Downloads a CSV file whose first line must be `head`; returns its name and the other lines. */
  const csv = async (target, head) => {
    const { name, bytes } = await download(target);
    const [first, ...lines] = bytes.toString("utf8").trimEnd().split(/\r?\n/);
    assert.equal(first, head, name);
    return { name, lines };
  };
  /** Checks that the audit page has one record of the admin for each method, or `count` records. */
  const expectAudited = async (methods, count = 1) => {
    // The table must have only the head and these records, because the previous rows are still
    // shown for a moment.
    const table = page.locator(`[role="table"][aria-rowcount="${count + 1}"]`);
    for (const method of methods) {
      await page.getByLabel("Method").fill(method);
      await page.keyboard.press("Enter");
      await table.getByRole("row", { name: new RegExp(`admin ${method}`) }).first().waitFor();
    }
  };
  /** Calls the API as the user who is signed in. */
  const call = (method, path, body) =>
    page.evaluate(
      async ([how, where, what]) => {
        const headers = { "X-Det-Session": "cookie", "Content-Type": "application/json" };
        const answer = await fetch(where, { method: how, headers, body: JSON.stringify(what) });
        if (!answer.ok) throw new Error(`${how} ${where}: ${await answer.text()}`);
        return answer.json();
      },
      [method, path, body],
    );
  /** Signs out, and signs in as another user. */
  const switchTo = async (username, password) => {
    await page.locator("summary", { hasText: "Signed in as" }).click();
    await button("Sign out").click();
    await signIn(page, username, password);
    await page.locator("summary", { hasText: `Signed in as ${username}` }).waitFor();
  };
  return {
    button,
    call,
    switchTo,
    field,
    head,
    fillDialog,
    send,
    acceptPrompt,
    download,
    csv,
    expectAudited,
  };
}
