// Sign-in and sign-out: redirects, refusals, and that scripts cannot read the token.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";

const password = process.env.PASSWORD;

await inBrowser(async (page, watch) => {
  await page.goto(`${url}/nowhere?x=1`);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await inspect(page, "sign-in");

  watch.expected = [/401/];
  await signIn(page, "admin", "wrong");
  const refusal = page.getByRole("alert");
  await refusal.waitFor();
  await refusal.getByText("Details").click();
  assert.match(await refusal.innerText(), /Request ID [0-9a-f-]{36}/);
  await inspect(page, "sign-in-refused");

  await signIn(page, "admin", password);
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
  assert.equal(page.url(), `${url}/nowhere?x=1`);

  const [cookie] = await page.context().cookies();
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Strict");
  const seen = await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage }));
  assert.ok(!seen.includes(cookie.value), "a script can read the token");

  await page.locator("summary", { hasText: "Signed in as admin" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  const me = await fetch(`${url}/api/v1/me`, {
    headers: { Cookie: `${cookie.name}=${cookie.value}` },
  });
  assert.equal(me.status, 401, "the session is still valid");
  await page.goto(url);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
});
