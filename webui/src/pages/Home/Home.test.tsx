import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, within } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { expect, test, vi } from "vitest";
import golden from "@goldens/overview.json";
import type { Experiment, Message } from "@/api/types";
import type { Overview } from "@/api/useOverview";
import { copyGolden } from "@/testing/goldens";
import Home from "./Home";

const [pool] = golden.answer.pools;
const [job] = golden.answer.running;
const [done] = golden.answer.ended;
const overview = copyGolden<Overview>(golden.answer, {
  agents: 2,
  slots: 16,
  slotsInUse: 12,
  jobsRunning: 1,
  jobsWaiting: 3,
  pools: [
    copyGolden<Message["ResourcePool"]>(pool, {
      name: "default",
      slotsAvailable: 16,
      slotsUsed: 12,
    }),
  ],
  running: [
    copyGolden<Experiment>(job, {
      id: 42,
      name: "mine",
      state: "STATE_RUNNING",
      progress: 0.62,
      userId: 1,
      username: "ann",
      stateReason: "",
    }),
    copyGolden<Experiment>(job, {
      id: 41,
      name: "other",
      state: "STATE_QUEUED",
      userId: 2,
      username: "eve",
      stateReason: "full",
    }),
  ],
  ended: [
    copyGolden<Experiment>(done, {
      id: 40,
      name: "old",
      state: "STATE_ERROR",
      userId: 2,
      username: "eve",
    }),
  ],
});

function show(data: Overview | undefined) {
  const client = new QueryClient();
  client.setQueryData(["me"], { user: { id: 1, username: "ann" } });
  if (data) client.setQueryData(["overview"], data);
  render(
    <QueryClientProvider client={client}>
      <MemoryRouter>
        <Home />
      </MemoryRouter>
    </QueryClientProvider>,
  );
}

const section = (name: string) => within(screen.getByRole("region", { name }));

test("lists each experiment in its section", () => {
  show(overview);
  expect(section("My experiments").getByRole("link", { name: "mine" })).toHaveAttribute(
    "href",
    "/experiments/42",
  );
  expect(section("My experiments").getByText("62 %")).toBeVisible();
  expect(section("Other users' experiments").getByText("full")).toBeVisible();
  expect(section("Recently ended").getByText("Error")).toBeVisible();
});

test("reads the user's experiments separately when the overview may be incomplete", async () => {
  const many = Array.from({ length: 50 }, (_, i) =>
    copyGolden<Experiment>(job, { id: 100 + i, name: `other ${i}`, userId: 2, stateReason: "" }),
  );
  const queries: string[] = [];
  vi.stubGlobal("fetch", (request: Request) => {
    queries.push(new URL(request.url).search);
    return Promise.resolve(Response.json({ experiments: [overview.running?.[0]] }));
  });
  show({ ...overview, running: many });
  expect(screen.queryByText("You have no running or queued experiments.")).toBeNull();
  expect(await screen.findByRole("link", { name: "mine" })).toBeVisible();
  expect(queries[0]).toMatch(/userIds=1&states=STATE_ACTIVE&states=STATE_PAUSED/);
});

test("shows the cluster load as numbers", () => {
  show(overview);
  const load = section("Cluster load");
  expect(load.getByRole("meter", { name: "Slots in use of pool default" })).toHaveAttribute(
    "aria-valuenow",
    "12",
  );
  expect(load.getByText("jobs queued").previousSibling).toHaveTextContent("3");
});

test("shows the next step when the cluster is empty", () => {
  show({});
  expect(screen.getByText(/No agents are connected/)).toBeVisible();
  expect(screen.getByText("det experiment create const.yaml .")).toBeVisible();
});

test("shows no table before the first response", () => {
  show(undefined);
  expect(screen.getByRole("status", { name: "Loading" })).toBeVisible();
});
