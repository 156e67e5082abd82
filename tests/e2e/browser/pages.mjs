// Every page and every dialog that has an address: a new one gets a line here, and is then looked at by
// axe, light and dark, wide and narrow (narrow.mjs), and kept as a picture.

/**
 * The pages' addresses, with what is there once each has been read (of `page`, in Playwright's words), and
 * a name for its picture where the address is none.
 */
export function pagesOf(page, { experiment, trial, workspace, project, user, webhook, long }) {
  const text = (words) => page.getByText(words);
  const head = (name) => page.getByRole("heading", { name });
  const table = (name) => page.getByRole("table", { name }).getByRole("row");
  const dialog = page.getByRole("dialog").getByRole("heading");
  const of = `/experiments/${experiment}`;
  const parts = page.getByRole("navigation", { name: /^Parts/ });
  const model = `/models/${long}`;
  const curves = page.getByRole("figure").locator("canvas");
  return [
    ["/", page.getByRole("row", { name: /learns/ }), "home"],
    ["/cluster", head("agent-0")],
    ["/cluster/usage", page.getByRole("region", { name: "By user" })],
    ["/experiments", table("Experiments")],
    ["/experiments?of=runs&rows=compact", table("Runs"), "runs"],

    [of, curves, "experiment"],
    [`${of}?do=edit`, dialog, "experiment-edit"],
    [`${of}?do=move`, dialog, "experiment-move"],
    [`${of}/trials`, table("Trials"), "experiment-trials"],
    [`${of}/hyperparameters`, text(/drag along an axis/), "experiment-hyperparameters"],
    [`${of}/search`, head("Rung by rung"), "experiment-search"],
    [`${of}/code`, text("learns.py"), "experiment-code"],
    [`${of}/configuration`, text("with all defaults"), "experiment-configuration"],
    [`${of}/notes`, text("No notes yet."), "experiment-notes"],
    [`${of}/logs`, text(/^step \d+ of many/), "experiment-logs"],
    [`${of}/fork`, text("The configuration is good."), "experiment-fork"],

    [`/trials/${trial}`, curves, "trial"],
    ...["checkpoints", "hyperparameters", "runs", "system"].map((tab) => [
      `/trials/${trial}/${tab}`,
      parts,
      `trial-${tab}`,
    ]),
    [`/trials/${trial}/logs`, text(/^step \d+ of many/), "trial-logs"],
    [`/compare?trials=${trial},1`, text(/^Experiment \d+ against \d+/), "compare"],

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
    [`/projects/${project}`, head(long), "project"],

    ["/admin/users", table("Users")],
    ["/admin/users?do=create", dialog],
    [`/admin/users/${user.id}`, head(user.username), "user"],
    ["/admin/tokens", head("Access tokens")],
    ["/admin/tokens?do=create", dialog],
    ["/admin/templates", table("Templates")],
    ["/admin/templates?do=create", dialog],
    [`/admin/templates/${long}`, text("The template is good."), "template"],
    ["/admin/policies", page.getByLabel("Policies of the cluster, in YAML")],
    ["/admin/webhooks", table("Webhooks")],
    ["/admin/webhooks?do=create", dialog],
    [`/admin/webhooks/${webhook}`, head(long), "webhook"],
    [`/admin/webhooks/${webhook}?do=edit`, dialog, "webhook-edit"],
    ["/admin/audit", table("Audit")],
    ["/nowhere", head("There is no page here")],
  ].map(([path, there, name = path.slice(1).replaceAll(/[^a-z0-9]+/g, "-")]) => ({
    ...{ path, there, name },
  }));
}
