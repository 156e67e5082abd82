import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter } from "react-router";
import { expect, test, vi } from "vitest";
import machines from "@goldens/agents.json";
import capacity from "@goldens/capacity.json";
import explanation from "@goldens/explanation.json";
import permissions from "@goldens/permissions.json";
import queue from "@goldens/queue.json";
import type { Job, Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { findRole } from "@/testing/pages";
import { Agents } from "./Agents";
import { countSlots } from "./slotHolders";
import { moveBy, moveTo } from "./order";
import { Queue } from "./Queue";
import { sumSlotHours, formatUsageCsv, formatUtilizationCsv, computeUtilization } from "./usage";

const [machine] = machines.answer.agents;
const busy = machine?.slots[0];
const slot = (id: string, more: Message["Slot"] = {}) =>
  copyGolden<Message["Slot"]>(busy, {
    id,
    device: copyGolden<Message["Device"]>(busy?.device, { brand: "A100" }),
    container: undefined,
    containers: [],
    ...more,
  });
const agent = (more: Message["Agent"]) =>
  copyGolden<Message["Agent"]>(machine, { resourcePools: [], ...more });
const [runs, waits] = queue.answer.jobs;
const job = (id: string, more: Job = {}) =>
  copyGolden<Job>(runs, {
    jobId: `exp-${id}`,
    entityId: id,
    name: `n${id}`,
    username: "ann",
    userId: 2,
    requestedSlots: 8,
    allocatedSlots: 0,
    resourcePool: "gpu",
    priority: 42,
    ...more,
  });
const jobs = new Map([["7", job("7", { name: "bert" })]]);

const [anywhere] = permissions.answer.assignments;

/** Shows the page to a cluster admin, or to an Editor of `workspaces` only. An `answer` that throws is a refusal. */
function show(
  page: React.ReactNode,
  at = "/",
  answer: () => object = () => ({}),
  workspaces?: number[],
) {
  const role = findRole(workspaces ? "Editor" : "ClusterAdmin");
  const summary = {
    roles: [role],
    assignments: [
      copyGolden<Message["RoleAssignmentSummary"]>(anywhere, {
        roleId: role.roleId ?? 0,
        scopeCluster: !workspaces,
        scopeWorkspaceIds: workspaces ?? [],
      }),
    ],
  };
  const sent: string[] = [];
  vi.stubGlobal(
    "fetch",
    vi.fn(async (request: Request) => {
      if (request.url.endsWith("/permissions/summary")) return Response.json(summary);
      if (/\/(master|me)$/.test(request.url)) return Response.json({});
      sent.push(`${new URL(request.url).pathname} ${await request.text()}`.trim());
      try {
        return Response.json(answer());
      } catch (refused) {
        const error = { reason: "Internal", error: (refused as Error).message };
        return Response.json({ error }, { status: 500, headers: { "X-Request-Id": "r-1" } });
      }
    }),
  );
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MemoryRouter initialEntries={[at]}>{page}</MemoryRouter>
    </QueryClientProvider>,
  );
  return sent;
}

const showAgents = (agents: Message["Agent"][], mayChange = false) =>
  show(<Agents agents={agents} jobs={jobs} colourBy="experiment" mayChange={mayChange} />);

test("describes the state and holder of each slot", () => {
  const slots = {
    "0": slot("0", { container: { id: "7.9.1" } }),
    "1": slot("1"),
    "2": slot("2", { enabled: false, reason: "too hot" }),
    "3": slot("3", { quarantined: true, reason: "failed 3 tasks" }),
    "4": slot("4", { draining: true, enabled: false, container: { id: "7.9.1" } }),
    "5": slot("5", { containers: [{ id: "7.9.1" }, { id: "8.11.0" }], container: { id: "7.9.1" } }),
  };
  showAgents([agent({ id: "node-1", slots })]);
  const list = within(screen.getByRole("list", { name: "Slots of node-1" }));
  expect(list.getAllByRole("listitem").map((item) => item.title)).toEqual([
    "slot 0, A100: experiment 7 (bert), trial 9, by ann",
    "slot 1, A100: free",
    "slot 2, A100: disabled: too hot",
    "slot 3, A100: quarantined: failed 3 tasks",
    "slot 4, A100: experiment 7 (bert), trial 9, by ann; accepts no more work",
    "slot 5, A100: experiment 7 (bert), trial 9, by ann; experiment 8, trial 11",
  ]);
  expect(screen.getByText("3 / 6")).toBeVisible();
});

test("shows a disconnected agent", () => {
  const memory = "64000000000";
  showAgents([agent({ id: "n", connected: false, resourcePools: ["gpu"], memory, slots: {} })]);
  expect(screen.getByText("gpu · 64 GB · disconnected")).toBeVisible();
  expect(screen.queryByRole("button", { name: /Drain/ })).toBeNull();
});

test("drains and disables agents and slots with permission", async () => {
  const sent = showAgents([agent({ id: "n", slots: { "0": slot("0") } })], true);
  await userEvent.click(screen.getByRole("button", { name: "Drain n" }));
  await userEvent.click(screen.getByRole("button", { name: "slot 0, A100: free" }));
  await userEvent.click(screen.getByRole("button", { name: "Disable slot 0 of n" }));
  expect(sent).toEqual([
    '/api/v1/agents/n/disable {"drain":true}',
    '/api/v1/agents/n/slots/0/disable {"drain":false}',
  ]);
});

test("counts slots in the legend", () => {
  const held = { container: { id: "7.9.1" } };
  const agents = [agent({ id: "n", slots: { "0": slot("0", held), "1": slot("1", held) } })];
  expect(countSlots(agents, jobs, "experiment")).toEqual([
    { rank: 7, label: "7 bert", experimentId: 7, slots: 2 },
  ]);
  expect(countSlots(agents, jobs, "user")).toMatchObject([{ rank: 2, label: "ann", slots: 2 }]);
});

test("shows the wait reason of a queued job", () => {
  const { summary } = copyGolden<Job>(waits);
  const reason = "needs 8, 2 are free";
  show(<Queue jobs={[job("7", { summary, reason })]} pools={[]} />);
  expect(screen.getByRole("link", { name: "7 n7" })).toHaveAttribute("href", "/experiments/7");
  expect(screen.getByText("needs 8, 2 are free")).toBeVisible();
  expect(screen.getByText("Queued")).toBeVisible();
});

/** Waits until the permissions are loaded. */
const mayMove = () =>
  vi.waitFor(() =>
    expect(screen.getByRole("button", { name: /^Move 2.*arrow keys/ })).toHaveAttribute(
      "aria-disabled",
      "false",
    ),
  );

test("lets a workspace Editor move other users' jobs, also by buttons", async () => {
  const pools = [{ name: "gpu", schedulerType: "SCHEDULER_TYPE_PRIORITY" as const }];
  const mine = job("2", { username: "bob", userId: 9, workspaceId: 7, workspace: "vision" });
  const theirs = job("1", { workspaceId: 8, workspace: "speech" });
  const sent = show(<Queue jobs={[theirs, mine]} pools={pools} />, "/", undefined, [7]);
  await mayMove();
  const refused = screen.getByRole("button", { name: "Move 1 n1 down" });
  expect(refused).toHaveAttribute(
    "title",
    expect.stringMatching(/"update experiment" in workspace speech/),
  );
  await userEvent.click(refused);
  await userEvent.click(screen.getByRole("button", { name: "Move 2 n2 down" }));
  expect(sent).toEqual([]);
  await userEvent.click(screen.getByRole("button", { name: "Move 2 n2 up" }));
  expect(await screen.findByText("Moved 2 n2.")).toBeInTheDocument();
  expect(sent).toEqual(['/api/v1/job-queues {"updates":[{"jobId":"exp-2","aheadOf":"exp-1"}]}']);
});

test("moves a job only within its pool and priority", () => {
  const list = [job("1"), job("2", { priority: 50 }), job("3"), job("4")];
  expect(moveTo(list, "exp-4", "exp-1")).toEqual({ jobId: "exp-4", aheadOf: "exp-1" });
  expect(moveTo(list, "exp-1", "exp-3")).toEqual({ jobId: "exp-1", behindOf: "exp-3" });
  expect(moveTo(list, "exp-1", "exp-2")).toBeUndefined();
  expect(moveBy(list, "exp-3", -1)).toEqual({ jobId: "exp-3", aheadOf: "exp-1" });
  expect(moveBy(list, "exp-1", -1)).toBeUndefined();
});

test("reorders the queue by mouse and keyboard if the policy has an order", async () => {
  const pools = [{ name: "gpu", schedulerType: "SCHEDULER_TYPE_PRIORITY" as const }];
  const list = [job("1"), job("2"), job("3", { resourcePool: "fair" })];
  const sent = show(<Queue jobs={list} pools={pools} />);
  expect(screen.getAllByRole("button", { name: /^Move.*arrow keys/ })).toHaveLength(2);
  await mayMove();
  screen.getByRole("button", { name: /^Move 2.*arrow keys/ }).focus();
  await userEvent.keyboard("{ArrowUp}");
  await vi.waitFor(() =>
    expect(sent).toEqual(['/api/v1/job-queues {"updates":[{"jobId":"exp-2","aheadOf":"exp-1"}]}']),
  );
  const dataTransfer = { setData: vi.fn(), getData: () => "exp-1", effectAllowed: "" };
  fireEvent.dragStart(screen.getByRole("button", { name: /^Move 1.*arrow keys/ }), {
    dataTransfer,
  });
  fireEvent.drop(screen.getByRole("row", { name: /2 n2/ }), { dataTransfer });
  await vi.waitFor(() =>
    expect(sent[1]).toBe('/api/v1/job-queues {"updates":[{"jobId":"exp-1","behindOf":"exp-2"}]}'),
  );
});

test("shows the request ID of a refusal", async () => {
  const refuse = () => {
    throw new Error("the database is unavailable");
  };
  const pools = [{ name: "gpu", schedulerType: "SCHEDULER_TYPE_PRIORITY" as const }];
  show(<Queue jobs={[job("1"), job("2")]} pools={pools} />, "/", refuse);
  await mayMove();
  await userEvent.click(screen.getByRole("button", { name: "Move 2 n2 up" }));
  expect(await screen.findByText("the database is unavailable")).toBeVisible();
  expect(screen.getByText("Request ID r-1")).toBeInTheDocument();
  cleanup();
  const agents = [agent({ id: "n", slots: {} })];
  show(<Agents agents={agents} jobs={jobs} colourBy="experiment" mayChange />, "/", refuse);
  await userEvent.click(screen.getByRole("button", { name: "Drain n" }));
  expect(await screen.findByText("the database is unavailable")).toBeVisible();
  expect(screen.getByText("Request ID r-1")).toBeInTheDocument();
});

test("refetches the explanation after a move", async () => {
  const pools = [{ name: "gpu", schedulerType: "SCHEDULER_TYPE_PRIORITY" as const }];
  const explain = "/api/v1/job-queues/exp-2/explain";
  let reason = "is behind 1";
  const [waiting] = explanation.answer.waiting;
  const sent = show(<Queue jobs={[job("1"), job("2")]} pools={pools} />, "/?why=exp-2", () => ({
    ...explanation.answer,
    waiting: [copyGolden<Message["ExplainJobResponse.Waiting"]>(waiting, { reason })],
  }));
  expect(await screen.findByText(/is behind 1/)).toBeVisible();
  reason = "waits for 7";
  await mayMove();
  screen.getByRole("button", { name: /^Move 2.*arrow keys/ }).focus();
  await userEvent.keyboard("{ArrowUp}");
  expect(await screen.findByText(/waits for 7/)).toBeVisible();
  expect(sent.filter((what) => what === explain)).toHaveLength(2);
});

test("sums usage and draws it as steps", () => {
  const at = (minutes: number) => new Date(minutes * 60_000).toISOString();
  const common = { resourcePool: "gpu", username: "ann", seconds: 1800, slots: 2 };
  const entries = [
    { ...common, startTime: at(-30), endTime: at(30) },
    { ...common, username: "bob", slots: 4, startTime: at(20) },
  ];
  expect(sumSlotHours(entries, "username")).toEqual([
    { name: "bob", slotHours: 2 },
    { name: "ann", slotHours: 1 },
  ]);
  const [series] = computeUtilization(entries, [], 0, 60 * 60_000, 60_000);
  expect(series?.x).toEqual([-60, -60, -60, -40, -40, -30, -30, 0]);
  expect(series?.y).toEqual([0, 0, 2, 2, 6, 6, 4, 4]);
});

test("draws capacity next to usage and exports both", () => {
  const at = (minute: number) => new Date(minute * 60_000).toISOString();
  const used = [{ resourcePool: "gpu", slots: 2, startTime: at(10), endTime: at(30) }];
  const offered = (more: Message["CapacityEntry"]) =>
    copyGolden<Message["CapacityEntry"]>(capacity.answer.entries[0], more);
  const capacities = [
    offered({ resourcePool: "gpu", slots: 8, startTime: at(-5), endTime: at(40) }),
    offered({ resourcePool: "cpu", slots: 1, startTime: at(20), endTime: undefined }),
  ];
  const series = computeUtilization(used, capacities, 0, 60 * 60_000, 60_000);
  expect(series.map(({ label, rank }) => [label, rank])).toEqual([
    ["cpu: capacity", 8],
    ["gpu", 1],
    ["gpu: capacity", 9],
  ]);
  expect(series[2]?.x).toEqual([-60, -60, -60, -20, -20, 0]);
  expect(series[2]?.y).toEqual([0, 0, 8, 8, 0, 0]);
  expect(formatUtilizationCsv(used, capacities, 0, 60 * 60_000).split("\r\n")).toEqual([
    "pool,time,slots in use,all slots",
    "cpu,1970-01-01T00:00:00.000Z,0,0",
    "cpu,1970-01-01T00:20:00.000Z,0,1",
    "gpu,1970-01-01T00:00:00.000Z,0,8",
    "gpu,1970-01-01T00:10:00.000Z,2,8",
    "gpu,1970-01-01T00:30:00.000Z,0,8",
    "gpu,1970-01-01T00:40:00.000Z,0,0",
    "",
  ]);
});

test("exports usage as CSV without formulas", () => {
  const file = formatUsageCsv("User", [{ name: "=ann, of vision", slotHours: 1.5 }]);
  expect(file).toBe('User,Slot-hours\r\n"\'=ann, of vision",1.5\r\n');
});

test("shows the next step when the cluster is empty", () => {
  showAgents([]);
  expect(screen.getByText(/No agent/)).toBeVisible();
  show(<Queue jobs={[]} pools={[]} />);
  expect(screen.getByText(/No jobs are running/)).toBeVisible();
});
