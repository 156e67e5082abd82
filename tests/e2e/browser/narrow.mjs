// On a telephone: every page, and every dialog that has an address, fits a screen of 390 pixels. What is
// wider scrolls in a box of its own, never the page.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";

const experiment = Number(process.env.EXPERIMENT);
const long = "a-name-that-is-longer-than-a-telephone-is-wide-and-has-no-place-to-break";

/** What is wider than the screen, of what the page or its content would scroll to. */
const tooWide = () => {
  const boxes = [document.documentElement, document.querySelector("main")].filter(Boolean);
  const open = document.querySelector("dialog[open]");
  if (open) boxes.push(open);
  const scrolls = boxes.filter((box) => box.scrollWidth > Math.min(box.clientWidth, innerWidth));
  const isBoxed = (element) => {
    for (let box = element.parentElement; box && !boxes.includes(box); box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible") return true;
    return false;
  };
  const isOutside = (each) => {
    const { left, right, width, height } = each.getBoundingClientRect();
    // What only a screen reader is told is a pixel wide.
    return width > 1 && height > 1 && (left < -1 || right > innerWidth + 1);
  };
  const outside = [...document.querySelectorAll("body *")]
    .filter((each) => isOutside(each) && !isBoxed(each))
    .map((each) => each.outerHTML.slice(0, 160));
  return [...scrolls.map((box) => `${box.tagName} scrolls`), ...outside];
};

await inBrowser(
  async (page, watch) => {
    const misfits = {};
    const fits = async (name) => {
      const found = await page.evaluate(tooWide);
      if (found.length > 0) misfits[name] = found;
    };
    /** Goes to a page, waits until something is there, and looks at it. */
    const look = async (path, there, name = path.replaceAll(/[^a-z0-9]+/g, "-")) => {
      await page.goto(url + path);
      await there().first().waitFor();
      await fits(path);
      await inspect(page, `narrow${name}`);
    };
    const text = (words) => () => page.getByText(words);
    const head = (name) => () => page.getByRole("heading", { name });
    const table = (name) => () => page.getByRole("table", { name }).getByRole("row");
    const dialog = () => page.getByRole("dialog").getByRole("heading");
    const call = (method, path, body) =>
      page.evaluate(
        async ([how, where, what]) => {
          const headers = {
            "X-Det-Session": "cookie",
            "Content-Type": "application/json",
          };
          const answer = await fetch(where, {
            method: how,
            headers,
            body: JSON.stringify(what),
          });
          if (!answer.ok) throw new Error(`${how} ${where}: ${await answer.text()}`);
          return answer.json();
        },
        [method, path, body],
      );

    await page.goto(url);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await fits("sign-in");
    await signIn(page, "admin", process.env.PASSWORD);
    await page.getByRole("navigation", { name: "Places" }).waitFor();

    const { workspace } = await call("POST", "/api/v1/workspaces", {
      name: long,
    });
    const { project } = await call("POST", `/api/v1/workspaces/${workspace.id}/projects`, {
      ...{
        workspaceId: workspace.id,
        name: long,
        description: `${long} ${long}`,
      },
    });
    const { user } = await call("POST", "/api/v1/users", {
      ...{
        user: { username: long.slice(0, 60), active: true },
        password: "Secret456",
      },
    });
    const { model } = await call("POST", "/api/v1/models", {
      name: long,
      workspaceId: 1,
    });
    await call("POST", `/api/v1/models/${encodeURIComponent(model.name)}/versions`, {
      ...{
        modelName: model.name,
        checkpointUuid: process.env.CHECKPOINT,
        comment: long,
      },
    });
    await call("PUT", `/api/v1/templates/${long}`, {
      template: { name: long, config: { max_restarts: 1 }, workspaceId: 1 },
    });
    const { webhook } = await call("POST", "/api/v1/webhooks", {
      ...{
        name: long,
        url: `https://example.org/${long}/${long}`,
        workspaceId: 1,
      },
      ...{
        webhookType: "WEBHOOK_TYPE_DEFAULT",
        mode: "WEBHOOK_MODE_WORKSPACE",
      },
      triggers: [
        {
          triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
          condition: { state: "ERROR" },
        },
        { triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: long } },
      ],
    });
    const { trials } = await call("GET", `/api/v1/experiments/${experiment}/trials`);
    const [trial] = trials.map(({ id }) => id);

    await look("/", () => page.getByRole("row", { name: /learns/ }), "-home");
    await look("/cluster", head("agent-0"));
    await look("/cluster/usage", () => page.getByRole("region", { name: "By user" }));
    await look("/experiments", table("Experiments"));
    await page.getByText("Columns", { exact: true }).click();
    await fits("columns");
    await inspect(page, "narrow-columns");
    await page.getByText("Columns", { exact: true }).click();
    await page.getByText("Views", { exact: true }).click();
    await fits("views");

    const of = `/experiments/${experiment}`;
    await look(of, () => page.getByRole("figure").locator("canvas"));
    for (const what of ["edit", "move"]) await look(`${of}?do=${what}`, dialog);
    await look(`${of}/trials`, table("Trials"));
    await look(`${of}/hyperparameters`, () => page.getByText(/drag along an axis/));
    await look(`${of}/search`, head("Rung by rung"));
    await look(`${of}/code`, text("learns.py"));
    await look(`${of}/configuration`, text("with all defaults"));
    await look(`${of}/notes`, text("No notes yet."));
    await look(`${of}/logs`, text(/^step \d+ of many/));
    await look(`${of}/fork`, text("The configuration is good."));

    await look(`/trials/${trial}`, () => page.getByRole("figure").locator("canvas"));
    for (const tab of ["checkpoints", "hyperparameters", "runs", "system"])
      await look(`/trials/${trial}/${tab}`, () => page.getByRole("navigation", { name: /^Parts/ }));
    await look(`/trials/${trial}/logs`, text(/^step \d+ of many/));
    await look(`/compare?trials=${trial},1`, () => page.getByRole("row"), "-compare");

    await look("/models", table("Models"));
    await look("/models?do=create", dialog);
    await look(`/models/${long}`, table("Versions"), "-model");
    await look(`/models/${long}?do=register`, dialog, "-register");
    await look(`/models/${long}/versions/1`, text(/det checkpoint download/), "-version");
    await look("/workspaces", table("Workspaces"));
    for (const tab of ["", "/members", "/pools"])
      await look(`/workspaces/${workspace.id}${tab}`, head(long), `-workspace${tab.slice(1)}`);
    await look(`/projects/${project.id}`, head(long), "-project");

    await look("/admin/users", table("Users"));
    await look("/admin/users?do=create", dialog);
    await look(`/admin/users/${user.id}`, head(user.username), "-user");
    await look("/admin/tokens", head("Access tokens"));
    await look("/admin/tokens?do=create", dialog);
    await look("/admin/templates", table("Templates"));
    await look(`/admin/templates/${long}`, text("The template is good."), "-template");
    await look("/admin/webhooks", table("Webhooks"));
    await look("/admin/webhooks?do=create", dialog);
    await look(`/admin/webhooks/${webhook.id}`, head(long), "-webhook");
    await look(`/admin/webhooks/${webhook.id}?do=edit`, dialog, "-webhook-edit");
    await look("/admin/audit", table("Audit"));
    const tab = page.getByRole("navigation", { name: "Administration" }).getByText("Audit");
    const { x, width } = await tab.boundingBox();
    assert.ok(x >= 0 && x + width <= 390, `the tab one is in is out of sight, at ${x}`);
    await look("/nowhere", head("There is no page here"));

    // From page to page by the rail, and by the palette.
    const places = page.getByRole("navigation", { name: "Places" });
    await places.getByRole("link", { name: "Cluster" }).click();
    await head("agent-0")().waitFor();
    await page.getByRole("button", { name: /^Go to/ }).click();
    await page.getByRole("combobox", { name: /^Page, experiment/ }).fill("mod");
    await fits("palette");
    assert.deepEqual(misfits, {});
  },
  { viewport: { width: 390, height: 844 }, hasTouch: true },
);
