// Every page and every dialog that has an address. Add a line for a new one: layout.mjs then checks it
// with axe, light and dark, wide and narrow, and keeps screenshots.

/**
 * The pages' addresses, each with a locator on `page` for an element that appears when the page is loaded,
 * and a name for its screenshot if it cannot be derived from the address.
 */
export function getPages(page, known) {
  const { experiment, trial, workspace, project, user, webhook, long } = known;
  const text = (words) => page.getByText(words);
  const head = (name) => page.getByRole("heading", { name });
  const table = (name) => page.getByRole("table", { name }).getByRole("row");
  const dialog = page.getByRole("dialog").getByRole("heading");
  const of = `/experiments/${experiment}`;
  const sections = page.getByRole("navigation", { name: /sections$/ });
  const model = `/models/${long}`;
  const curves = page.getByRole("figure").locator("canvas");
  return [
    ["/", page.getByRole("row", { name: /learns/ }), "home"],
    ["/cluster", head("agent-0")],
    ["/cluster/usage", page.getByRole("region", { name: "By user" })],
    ["/experiments", table("Experiments")],
    ["/experiments?of=runs&rows=compact", table("Trials"), "runs"],

    [of, curves, "experiment"],
    [`${of}?do=edit`, dialog, "experiment-edit"],
    [`${of}?do=move`, dialog, "experiment-move"],
    [`${of}/trials`, table("Trials"), "experiment-trials"],
    [`${of}/hyperparameters`, text(/Drag on an axis/), "experiment-hyperparameters"],
    [`${of}/search`, head("Promotions by rung"), "experiment-search"],
    [`${of}/code`, text("learns.py"), "experiment-code"],
    [`${of}/configuration`, text("Show defaults"), "experiment-configuration"],
    [`${of}/notes`, text("No notes yet."), "experiment-notes"],
    [`${of}/logs`, text(/^step \d+ of many/), "experiment-logs"],
    [`${of}/fork`, text("Configuration is valid."), "experiment-fork"],

    [`/experiments/${known.unmanaged}`, text("unmanaged"), "experiment-unmanaged"],

    [`/trials/${trial}`, curves, "trial"],
    ...["checkpoints", "hyperparameters", "runs", "system"].map((tab) => [
      `/trials/${trial}/${tab}`,
      sections,
      `trial-${tab}`,
    ]),
    [`/trials/${trial}/logs`, text(/^step \d+ of many/), "trial-logs"],
    ["/tasks", table("Tasks")],
    ["/tasks?do=notebook", dialog],
    ["/tasks?do=tensorboard", dialog],
    [`/tasks/${known.task}`, text("Duration"), "task"],
    [`/tasks/${known.task}/logs`, text(long), "task-logs"],
    [`/tasks/${known.task}/configuration`, page.getByLabel("Configuration"), "task-configuration"],
    [`/tasks/${known.task}/open`, page.getByRole("main"), "task-open"],
    [`${of}?do=notebook`, dialog, "experiment-notebook"],
    [`/compare?trials=${trial},1`, text(/^Experiment \d+ compared with \d+/), "compare"],

    ["/models", table("Models")],
    ["/models?do=create", dialog],
    [model, table("Versions"), "model"],
    [`${model}?do=register`, dialog, "model-register"],
    [`${model}/versions/1`, text(/det checkpoint download/), "model-version"],
    ["/workspaces", table("Workspaces")],
    ...["", "/members", "/pools", "/policies"].map((tab) => [
      `/workspaces/${workspace}${tab}`,
      head(long),
      `workspace${tab.replace("/", "-")}`,
    ]),
    [`/workspaces/${workspace}/members?do=member`, dialog, "workspace-members-new"],
    [`/projects/${project}`, head(long), "project"],

    ["/admin/users", table("Users")],
    ["/admin/users?do=create", dialog],
    [`/admin/users/${user.id}`, head(user.username), "user"],
    [`/admin/users/${user.id}?do=role`, dialog, "user-role"],
    ["/admin/groups", table("Groups")],
    ["/admin/groups?do=create", dialog],
    [`/admin/groups/${known.group}`, table(`Members of ${long}`), "group"],
    [`/admin/groups/${known.group}?do=members`, dialog, "group-members"],
    ["/admin/roles", table("Roles")],
    ["/admin/roles?do=create", dialog],
    [`/admin/roles/${known.role}`, table(`Permissions of ${long}`), "role"],
    ["/admin/tokens", head("Access tokens")],
    ["/admin/tokens?do=create", dialog],
    ["/admin/templates", table("Templates")],
    ["/admin/templates?do=create", dialog],
    [`/admin/templates/${long}`, text("Template is valid."), "template"],
    ["/admin/policies", page.getByLabel("Policies of the cluster (YAML)")],
    ["/admin/webhooks", table("Webhooks")],
    ["/admin/webhooks?do=create", dialog],
    [`/admin/webhooks/${webhook}`, head(long), "webhook"],
    [`/admin/webhooks/${webhook}?do=edit`, dialog, "webhook-edit"],
    ["/admin/audit", table("Audit")],
    ["/nowhere", head("Page not found")],
  ].map(([path, there, name = path.slice(1).replaceAll(/[^a-z0-9]+/g, "-")]) => ({
    path,
    there,
    name,
  }));
}
