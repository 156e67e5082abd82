// Opens every page and every dialog that has an address on a phone and on a large screen. On a
// phone each must fit 390 pixels: wider content scrolls in its own box, never the page.
import assert from "node:assert/strict";
import { inBrowser, inspect, signIn, url } from "./browser.mjs";
import { makeHelpers } from "./helpers.mjs";
import { getPages } from "./pages.mjs";

const experiment = Number(process.env.EXPERIMENT);
const NARROW = { width: 390, height: 844 };
const WIDE = { width: 1280, height: 800 };
const long = "a-name-that-is-wider-than-the-screen-of-a-phone-and-cannot-be-broken-up";

/**
 * Returns the elements that are wider than the screen and do not scroll in their own box, and whether the document is
 * longer than the screen.
 */
const findMisfits = () => {
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
    // Text for screen readers only is one pixel wide.
    return width > 1 && height > 1 && (left < -1 || right > innerWidth + 1);
  };
  const outside = [...document.querySelectorAll("body *")]
    .filter((each) => isOutside(each) && !isBoxed(each))
    .map((each) => each.outerHTML.slice(0, 160));
  // Only <main> scrolls: a longer document would scroll into blank space.
  const { scrollHeight } = document.documentElement;
  const longer = scrollHeight > innerHeight ? [`the document is ${scrollHeight} pixels long`] : [];
  return [...scrolls.map((box) => `${box.tagName} scrolls`), ...outside, ...longer];
};

await inBrowser(
  async (page, watch) => {
    const misfits = {};
    const fits = async (name) => {
      const found = await page.evaluate(findMisfits);
      if (found.length > 0) misfits[name] = found;
    };
    const { call } = makeHelpers(page);

    await page.goto(url);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await fits("sign-in");
    await signIn(page, "admin", process.env.PASSWORD);
    await page.getByRole("navigation", { name: "Main navigation" }).waitFor();

    const { workspace } = await call("POST", "/api/v1/workspaces", {
      name: long,
    });
    const { project } = await call("POST", `/api/v1/workspaces/${workspace.id}/projects`, {
      workspaceId: workspace.id,
      name: long,
      description: `${long} ${long}`,
    });
    const { user } = await call("POST", "/api/v1/users", {
      user: { username: long.slice(0, 60), active: true },
      password: "Secret456",
    });
    const { group } = await call("POST", "/api/v1/groups", {
      name: long,
      addUsers: [user.id],
    });
    const { role } = await call("POST", "/api/v1/roles", {
      name: long,
      permissions: [{ id: "PERMISSION_TYPE_VIEW_WORKSPACE" }],
    });
    await call("POST", "/api/v1/roles/add-assignments", {
      groupRoleAssignments: [
        {
          groupId: group.groupId,
          roleAssignment: { role: { roleId: role.roleId }, scopeWorkspaceId: workspace.id },
        },
      ],
    });
    const unmanaged = await call("POST", "/api/v1/experiments", {
      config: `{name: ${long}, searcher: {name: single, metric: loss}}`,
      unmanaged: true,
      projectId: project.id,
    });
    const { model } = await call("POST", "/api/v1/models", {
      name: long,
      workspaceId: 1,
    });
    await call("POST", `/api/v1/models/${encodeURIComponent(model.name)}/versions`, {
      modelName: model.name,
      checkpointUuid: process.env.CHECKPOINT,
      comment: long,
    });
    await call("PUT", `/api/v1/templates/${long}`, {
      template: { name: long, config: { max_restarts: 1 }, workspaceId: 1 },
    });
    const { webhook } = await call("POST", "/api/v1/webhooks", {
      name: long,
      url: `https://example.org/${long}/${long}`,
      workspaceId: 1,
      webhookType: "WEBHOOK_TYPE_DEFAULT",
      mode: "WEBHOOK_MODE_WORKSPACE",
      triggers: [
        {
          triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
          condition: { state: "ERROR" },
        },
        { triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: long } },
      ],
    });
    const { command } = await call("POST", "/api/v1/commands", {
      config: { description: long, entrypoint: [`echo ${long}`], resources: { slots: 0 } },
    });
    const { trials } = await call("GET", `/api/v1/experiments/${experiment}/trials`);
    const [trial] = trials.map(({ id }) => id);

    const known = {
      experiment,
      trial,
      task: command.id,
      workspace: workspace.id,
      project: project.id,
      user,
      group: group.groupId,
      role: role.roleId,
      unmanaged: unmanaged.experiment.id,
      long,
      webhook: webhook.id,
    };
    for (const { path, there, name } of getPages(page, known)) {
      await page.setViewportSize(NARROW);
      await page.goto(url + path);
      await there.first().waitFor();
      await fits(path);
      await inspect(page, `narrow-${name}`);
      await page.setViewportSize(WIDE);
      await there.first().waitFor();
      await inspect(page, `every-${name}`);
    }
    await page.setViewportSize(NARROW);

    await page.goto(`${url}/experiments`);
    await page.getByRole("table", { name: "Experiments" }).getByRole("row").first().waitFor();
    for (const [what, isLookedAt] of [
      ["Conditions", true],
      ["Columns", true],
      ["Views", false],
    ]) {
      const summary = page.locator("summary", { hasText: what });
      await summary.click();
      if (what === "Conditions") await page.getByRole("button", { name: "Add group" }).click();
      await fits(what);
      if (isLookedAt) await inspect(page, `narrow-${what.toLowerCase()}`);
      await summary.click();
    }

    await page.goto(`${url}/admin/audit`);
    await page.getByRole("table", { name: "Audit" }).getByRole("row").first().waitFor();
    const tab = page.getByRole("navigation", { name: "Administration" }).getByText("Audit");
    const { x, width } = await tab.boundingBox();
    assert.ok(x >= 0 && x + width <= 390, `the current tab is out of sight, at ${x}`);

    // Navigate by the rail and by the palette.
    const places = page.getByRole("navigation", { name: "Main navigation" });
    await places.getByRole("link", { name: "Cluster" }).click();
    await page.getByRole("heading", { name: "agent-0" }).waitFor();
    await page.getByRole("button", { name: /^Go to/ }).click();
    await page.getByRole("combobox", { name: /^Page, experiment/ }).fill("mod");
    await fits("palette");
    assert.deepEqual(misfits, {});
  },
  { viewport: NARROW, hasTouch: true },
);
