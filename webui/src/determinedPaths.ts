import { matchPath } from "react-router";
import { api, unwrap } from "./api/client";
import { parseOwn, paths } from "./paths";
import { LEVELS, NO_FILTERS, writeFilters } from "./components/LogView/filters";

type Params = Readonly<Record<string, string | undefined>>;

/** The page of this dashboard that shows the same, given the parts of the address and its query. */
type Target = (params: Params, query: URLSearchParams) => string | Promise<string>;

const experimentTabs: Record<string, string> = {
  trials: "trials",
  hyperparameters: "hyperparameters",
  searcher: "search",
  code: "code",
  configuration: "configuration",
  notes: "notes",
  logs: "logs",
};

// Determined shows these tabs of an experiment with one trial; here they are the trial's.
const tabsOfOnlyTrial = ["metrics", "profiler", "checkpoints"];

const trialTabs: Record<string, string> = {
  hyperparameters: "hyperparameters",
  profiler: "system",
  logs: "logs",
  checkpoints: "checkpoints",
};

const workspaceTabs: Record<string, string> = {
  members: "members",
  pools: "pools",
  policies: "policies",
};

const withQuery = (path: string, query: URLSearchParams) =>
  query.size > 0 ? `${path}${path.includes("?") ? "&" : "?"}${query.toString()}` : path;

/** The filters of a log. */
function toLogQuery(query: URLSearchParams): URLSearchParams {
  const levels = query.getAll("level").map((level) => level.replace(/^LOG_LEVEL_/i, ""));
  const rank = query.get("rankId") ?? "";
  const named = levels.map((level) => LEVELS.findIndex((each) => each === level.toUpperCase()));
  // Determined lists each level that is shown; here the lowest one is given.
  const lowest = LEVELS[Math.min(...named.filter((index) => index >= 0))];
  return writeFilters(new URLSearchParams(), {
    ...NO_FILTERS,
    level: lowest ?? "",
    rank: /^\d+$/.test(rank) ? rank : "",
    text: query.get("searchText") ?? "",
    isPattern: query.get("enableRegex") === "true",
  });
}

/** The filters of a list of experiments. */
function toListQuery(query: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams();
  const text = query.get("search") ?? query.get("name");
  const states = query
    .getAll("state")
    .map((state) => state.replace(/^STATE_/, "").toLowerCase())
    .filter((state) => /^[a-z]+$/.test(state));
  if (text) next.set("q", text);
  if (states.length > 0)
    next.set("filter", states.map((state) => `state is ${state}`).join(" or "));
  if (query.get("archived") === "true") next.set("archived", "yes");
  return next;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // not encoded
  }
}

const toTrial: Target = ({ experiment, trial, tab = "" }, query) => {
  const id = Number(trial);
  if (tab === "code" && experiment) return paths.experiment(Number(experiment), "code");
  const path = paths.trial(id, trialTabs[tab]);
  return tab === "logs" ? withQuery(path, toLogQuery(query)) : path;
};

const toExperiment: Target = async ({ experiment, tab = "", chart = "" }, query) => {
  const id = Number(experiment);
  if (tabsOfOnlyTrial.includes(tab)) {
    const path = { experiment_id: id };
    const call = api.GET("/api/v1/experiments/{experiment_id}", { params: { path } });
    const trials = await unwrap(call).then(
      (answer) => answer.experiment?.trialIds ?? [],
      () => [], // The experiment's page shows the error.
    );
    const [trial] = trials;
    if (trial !== undefined && trials.length === 1) return paths.trial(trial, trialTabs[tab]);
    return paths.experiment(id, tab === "checkpoints" ? "trials" : "");
  }
  if (tab === "visualization" && chart.startsWith("hp-"))
    return paths.experiment(id, "hyperparameters");
  const path = paths.experiment(id, experimentTabs[tab]);
  return tab === "logs" ? withQuery(path, toLogQuery(query)) : path;
};

const toProject: Target = ({ project, tab = "" }, query) => {
  const id = Number(project);
  if (!["experiments", "runs", "searches"].includes(tab)) return paths.project(id);
  const path = paths.projectExperiments(id);
  return withQuery(tab === "runs" ? `${path}&of=runs` : path, toListQuery(query));
};

const toWorkspace: Target = ({ workspace, tab = "" }) => {
  if (tab === "models") return paths.models;
  if (tab === "templates") return paths.templates;
  if (tab === "tasks") return paths.workspaceTasks(Number(workspace));
  return paths.workspace(Number(workspace), workspaceTabs[tab]);
};

const taskKinds = ["command", "jupyter-lab", "shell", "tensor-board"];

const toTaskLogs: Target = ({ kind = "", task = "" }, query) =>
  taskKinds.includes(kind)
    ? withQuery(paths.task(decode(task), "logs"), toLogQuery(query))
    : `/${kind}/${task}/logs`;

const toCluster: Target = ({ tab }) => (tab === "historical-usage" ? paths.usage : paths.cluster);

const toLogin: Target = (_, query) => {
  const next = query.get("redirect") ?? "";
  return next.startsWith("/det/") ? toOwnPath(next.slice("/det".length)) : paths.home;
};

/** The addresses of Determined's pages, without /det. The first pattern that matches counts. */
export const determinedPaths: readonly (readonly [pattern: string, target: Target])[] = [
  ["/dashboard", () => paths.home],
  ["/experiments", (_, query) => withQuery(paths.experiments, toListQuery(query))],
  ["/experiments/:experiment/trials/:trial/:tab?", toTrial],
  ["/experiments/:experiment/:tab?/:chart?", toExperiment],
  ["/trials/:trial/:tab?", toTrial],
  ["/searches/:experiment/*", ({ experiment }) => paths.experiment(Number(experiment), "trials")],
  ["/projects/:project/:tab?", toProject],
  ["/workspaces", () => paths.workspaces],
  ["/workspaces/:workspace/:tab?", toWorkspace],
  ["/uncategorized", () => paths.projectExperiments(1)],
  ["/models", () => paths.models],
  [
    "/models/:model/versions/:version/*",
    ({ model = "", version }) => paths.modelVersion(decode(model), Number(version)),
  ],
  ["/models/:model/*", ({ model = "" }) => paths.model(decode(model))],
  ["/clusters/:tab?", toCluster],
  ["/cluster/:tab?", toCluster],
  ["/agents", () => paths.cluster],
  ["/logs", () => paths.cluster],
  ["/resourcepool/:pool/:tab?", () => paths.cluster],
  ["/jobs", () => paths.cluster],
  ["/tasks", () => paths.tasks],
  ["/interactive/:task/*", ({ task = "" }) => paths.openTask(decode(task))],
  ["/wait/:kind/:task", ({ task = "" }) => paths.openTask(decode(task))],
  ["/:kind/:task/logs", toTaskLogs],
  ["/webhooks", () => paths.webhooks],
  ["/templates", () => paths.templates],
  ["/policies", () => paths.policies],
  ["/admin/group-management", () => paths.groups],
  ["/admin/:tab?", () => paths.users],
  ["/users", () => paths.users],
  ["/settings/*", () => paths.home],
  ["/login", toLogin],
  ["/logout", () => paths.home],
  ["/reload", () => paths.home],
];

/** Whether the IDs in an address are numbers. */
const hasIds = ({ experiment, trial, project, workspace, version }: Params) =>
  [experiment, trial, project, workspace, version].every((id) => /^\d*$/.test(id ?? ""));

/**
 * The page of this dashboard for an address of Determined's dashboard, without /det; the address itself
 * where there is none.
 */
export async function toOwnPath(address: string): Promise<string> {
  const { pathname, search, searchParams } = parseOwn(address);
  for (const [pattern, target] of determinedPaths) {
    const found = matchPath(pattern, pathname);
    if (found && hasIds(found.params)) return target(found.params, searchParams);
  }
  return pathname + search;
}
