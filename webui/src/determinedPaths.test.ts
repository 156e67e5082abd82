import { matchRoutes } from "react-router";
import { QueryClient } from "@tanstack/react-query";
import { expect, it, vi } from "vitest";
import { determinedPaths, toOwnPath } from "./determinedPaths";
import { routesWith } from "./routes";

/** Addresses of Determined's dashboard without /det, and where each of them leads. */
const addresses: [from: string, to: string][] = [
  ["/", "/"],
  ["/dashboard", "/"],
  ["/experiments", "/experiments"],
  ["/experiments?search=mnist&archived=true", "/experiments?q=mnist&archived=yes"],
  [
    "/experiments?state=STATE_COMPLETED&state=STATE_ERROR",
    "/experiments?filter=state+is+completed+or+state+is+error",
  ],
  ["/experiments/6", "/experiments/6"],
  ["/experiments/6/overview", "/experiments/6"],
  ["/experiments/6/visualization", "/experiments/6"],
  ["/experiments/6/visualization/learning-curve", "/experiments/6"],
  ["/experiments/6/visualization/hp-parallel-coordinates", "/experiments/6/hyperparameters"],
  ["/experiments/6/visualization/hp-scatter-plots", "/experiments/6/hyperparameters"],
  ["/experiments/6/visualization/hp-heat-map", "/experiments/6/hyperparameters"],
  ["/experiments/6/trials", "/experiments/6/trials"],
  ["/experiments/6/hyperparameters", "/experiments/6/hyperparameters"],
  ["/experiments/6/searcher", "/experiments/6/search"],
  ["/experiments/6/code", "/experiments/6/code"],
  ["/experiments/6/configuration", "/experiments/6/configuration"],
  ["/experiments/6/notes", "/experiments/6/notes"],
  ["/experiments/6/logs", "/experiments/6/logs"],
  ["/experiments/6/metrics", "/trials/47"],
  ["/experiments/6/profiler", "/trials/47/system"],
  ["/experiments/6/checkpoints", "/trials/47/checkpoints"],
  // Several trials, and an experiment that is gone.
  ["/experiments/7/metrics", "/experiments/7"],
  ["/experiments/7/checkpoints", "/experiments/7/trials"],
  ["/experiments/404/checkpoints", "/experiments/404/trials"],
  ["/experiments/6/trials/47", "/trials/47"],
  ["/experiments/6/trials/47/overview", "/trials/47"],
  ["/experiments/6/trials/47/metrics", "/trials/47"],
  ["/experiments/6/trials/47/hyperparameters", "/trials/47/hyperparameters"],
  ["/experiments/6/trials/47/profiler", "/trials/47/system"],
  ["/experiments/6/trials/47/checkpoints", "/trials/47/checkpoints"],
  ["/experiments/6/trials/47/code", "/experiments/6/code"],
  ["/experiments/6/trials/47/logs", "/trials/47/logs"],
  [
    "/experiments/6/trials/47/logs?level=LOG_LEVEL_ERROR&level=LOG_LEVEL_WARNING&rankId=1&searchText=a%20b&enableRegex=true",
    "/trials/47/logs?level=WARNING&rank=1&text=a+b&pattern=yes",
  ],
  ["/trials/47", "/trials/47"],
  ["/trials/47/logs", "/trials/47/logs"],
  ["/searches/6", "/experiments/6/trials"],
  ["/searches/6/runs", "/experiments/6/trials"],
  ["/projects/1", "/projects/1"],
  ["/projects/1/experiments", "/experiments?project=1"],
  ["/projects/1/experiments?search=x", "/experiments?project=1&q=x"],
  ["/projects/1/searches", "/experiments?project=1"],
  ["/projects/1/runs", "/experiments?project=1&of=runs"],
  ["/projects/1/notes", "/projects/1"],
  ["/workspaces", "/workspaces"],
  ["/workspaces/2", "/workspaces/2"],
  ["/workspaces/2/projects", "/workspaces/2"],
  ["/workspaces/2/members", "/workspaces/2/members"],
  ["/workspaces/2/pools", "/workspaces/2/pools"],
  ["/workspaces/2/policies", "/workspaces/2/policies"],
  ["/workspaces/2/models", "/models"],
  ["/workspaces/2/templates", "/admin/templates"],
  ["/workspaces/2/tasks", "/tasks?workspace=2"],
  ["/uncategorized", "/experiments?project=1"],
  ["/models", "/models"],
  ["/models/mnist", "/models/mnist"],
  ["/models/a%20b/versions/3", "/models/a%20b/versions/3"],
  ["/models/3/versions/2/notes", "/models/3/versions/2"],
  ["/models/3/versions", "/models/3"],
  ["/clusters", "/cluster"],
  ["/clusters/overview", "/cluster"],
  ["/clusters/historical-usage", "/cluster/usage"],
  ["/clusters/logs", "/cluster"],
  ["/cluster/historical-usage", "/cluster/usage"],
  ["/agents", "/cluster"],
  ["/logs", "/cluster"],
  ["/resourcepool/default", "/cluster"],
  ["/resourcepool/gpu/queued", "/cluster"],
  ["/jobs", "/cluster"],
  ["/tasks", "/tasks"],
  [
    "/interactive/a-1/jupyter-lab/JupyterLab%20(a-b-c)/default/%2Fdet%2Fwait%2Fnotebook%2Fa-1%3FeventUrl%3D?currentSlotsExceeded=false",
    "/tasks/a-1/open",
  ],
  ["/wait/tensorboard/a-1?eventUrl=x&serviceAddr=%2F%2Fevil.com", "/tasks/a-1/open"],
  ["/jupyter-lab/a-1/logs?id=x", "/tasks/a-1/logs"],
  ["/webhooks", "/admin/webhooks"],
  ["/templates", "/admin/templates"],
  ["/policies", "/admin/policies"],
  ["/admin", "/admin/users"],
  ["/admin/user-management", "/admin/users"],
  ["/admin/group-management", "/admin/groups"],
  ["/users", "/admin/users"],
  ["/settings", "/"],
  ["/settings/account", "/"],
  ["/login", "/"],
  ["/login?redirect=%2Fdet%2Fexperiments%2F6%2Ftrials%2F47", "/trials/47"],
  ["/login?redirect=https%3A%2F%2Fexample.org", "/"],
  ["/logout", "/"],
  ["/reload", "/"],
];

function serveExperiments() {
  vi.stubGlobal("fetch", ({ url }: Request) => {
    const id = Number(/\d+$/.exec(url)?.[0]);
    const trialIds = { 6: [47], 7: [48, 49] }[id];
    return Promise.resolve(
      Response.json({ experiment: { id, trialIds } }, { status: trialIds ? 200 : 404 }),
    );
  });
}

it.each(addresses)("leads from /det%s to %s", async (from, to) => {
  serveExperiments();
  const path = await toOwnPath(from);
  expect(path).toBe(to);
  const match = matchRoutes(routesWith(new QueryClient()), path)?.at(-1);
  expect(match?.route.path, "the page exists").not.toBe("*");
});

it("leads to the same address where Determined has no such page", async () => {
  expect(await toOwnPath("/artifacts/abc/logs")).toBe("/artifacts/abc/logs");
  expect(await toOwnPath("/experiments/six")).toBe("/experiments/six");
});

it.each([
  "",
  "//",
  "//evil.com",
  "/x//evil.com",
  "//x//evil.com",
  "/\\x//evil.com",
  "\\\\evil.com",
  "/.//evil.com",
  "/..//evil.com",
  "/\t/evil.com",
  "//user@evil.com:99999/",
])("leads from /det%j to no other host, also after a sign-in", async (address) => {
  expect(await toOwnPath(address)).toMatch(/^\/(?!\/)/);
  const redirect = encodeURIComponent(`/det/${address}`);
  expect(await toOwnPath(`/login?redirect=${redirect}`)).toMatch(/^\/(?!\/)/);
});

it("has an address for each pattern", () => {
  const tested = new Set<string>();
  for (const [from] of addresses) {
    const found = determinedPaths.find(([pattern]) => matchRoutes([{ path: pattern }], from));
    if (found) tested.add(found[0]);
  }
  expect([...tested].sort()).toEqual(determinedPaths.map(([pattern]) => pattern).sort());
});
