import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import golden from "@goldens/checkpoints.json";
import experimentGolden from "@goldens/experiment.json";
import metricNames from "@goldens/metricNames.json";
import answered from "@goldens/trial.json";
import { readArchive, readFile } from "@/api/checkpointFiles";
import type { Experiment, Message } from "@/api/types";
import { LineChart } from "@/charts/LineChart";
import { copyGolden } from "@/testing/goldens";
import { showPage, viewer, type Answers } from "@/testing/pages";
import {
  toColumns,
  sortByAxis,
  toAxisPositions,
  findPositions,
  computeThroughput,
  withGaps,
} from "@/charts/points";
import { Checkpoints } from "./Checkpoints";
import { Metrics, System } from "./Metrics";
import { Attempts } from "./Attempts";
import { selectMetrics, getUnit } from "./system";
import Trial from "./Trial";

// jsdom has no canvas.
vi.mock("@/charts/LineChart", () => ({ LineChart: vi.fn(() => null) }));

it("positions points on the selected axis", () => {
  const points = [
    { batches: 10, epoch: 0.5, time: "2026-01-01T00:00:00Z", values: { loss: 2 } },
    { batches: 20, epoch: 1, time: "2026-01-01T00:01:00Z", values: { loss: "inf" } },
  ];
  expect([...toColumns(points, "loss", "batches").x]).toEqual([10, 20]);
  expect([...toColumns(points, "loss", "epochs").x]).toEqual([0.5, 1]);
  expect([...toColumns(points, "loss", "time").x]).toEqual([0, 60]);
  expect([...toColumns(points, "loss", "time").y]).toEqual([2, NaN]);
  expect(toColumns([{ batches: 1, values: { loss: 1 } }], "loss", "epochs").x).toHaveLength(0);
});

it("marks checkpoints at their batches on every axis", () => {
  const at = (second: number) => `2026-01-01T00:00:${second}Z`;
  const points = [10, 20, 30].map((batches, i) => ({
    batches,
    epoch: batches / 20,
    time: at(10 + i * i * 4),
    values: {},
  }));
  expect(toAxisPositions(points, [20, 25, 40, 5], "batches")).toEqual([20, 25, 40, 5]);
  expect(toAxisPositions(points, [20, 25, 40, 5], "epochs")).toEqual([1, 1.25]);
  expect(toAxisPositions(points, [20, 25, 40, 5], "time")).toEqual([4, 10]);
  expect(toAxisPositions([{ batches: 10 }], [10], "epochs")).toEqual([]);
});

it.each([
  ["batches", undefined, [20]],
  ["time", undefined, [60]],
  ["epochs", "No epochs reported.", []],
])("marks checkpoints on a chart over %s, or explains missing data", async (x, none, marks) => {
  const checkpoint = copyGolden<Message["Checkpoint"]>(golden.answer.checkpoints[0], {
    metadata: { steps_completed: 20 } as never,
  });
  const data = [
    { batches: 10, time: "2026-01-01T00:00:00Z", values: { loss: 2 } },
    { batches: 20, time: "2026-01-01T00:01:00Z", values: { loss: 1 } },
  ];
  const [name] = metricNames.answer.metricNames;
  const metricName = copyGolden<{ group: string; name: string }>(name, {
    group: "training",
    name: "loss",
  });
  vi.mocked(LineChart).mockClear();
  showPage(() => <Metrics trial={{ id: 5, experimentId: 1 }} />, "/", `/?x=${x}`, {
    "GET /api/v1/trials/5/checkpoints": { checkpoints: [checkpoint] },
    "GET /api/v1/trials/time-series": { trials: [{ metrics: [{ data }] }] },
    "GET /api/v1/experiments/metrics-stream/metric-names": {
      result: { metricNames: [metricName] },
    },
  });
  await vi.waitFor(() => {
    const props = vi.mocked(LineChart).mock.lastCall?.[0];
    expect(props?.none).toBe(none);
    expect(props?.series.flatMap(({ checkpoints }) => checkpoints)).toEqual(marks);
  });
});

function showMetrics(
  trial: Message["Trial"],
  metric: { group: string; name: string },
  data: object[],
) {
  vi.mocked(LineChart).mockClear();
  const [name] = metricNames.answer.metricNames;
  showPage(() => <Metrics trial={{ id: 5, experimentId: 1, ...trial }} />, "/", "/", {
    "GET /api/v1/trials/5/checkpoints": { checkpoints: [] },
    "GET /api/v1/trials/time-series": { trials: [{ metrics: [{ data }] }] },
    "GET /api/v1/experiments/metrics-stream/metric-names": {
      result: { metricNames: [copyGolden<typeof metric>(name, metric)] },
    },
  });
}

it("lists texts, newest first, because no chart can draw them", async () => {
  showMetrics({}, { group: "validation", name: "verdict" }, [
    { batches: 10, values: { verdict: "bad" } },
    { batches: 20, values: { verdict: "[1.0,2.0]" } },
  ]);
  const rows = within(await screen.findByRole("group", { name: "Values of verdict" }));
  expect(rows.getAllByRole("row").map((row) => row.textContent)).toEqual([
    "BatchesValue",
    "20[1.0,2.0]",
    "10bad",
  ]);
});

it("draws NaN and infinite values as marks, and notes those that the master left out", async () => {
  const summaryMetrics = { avg_metrics: { loss: { type: "number", sum: "NaN" } } } as never;
  const loss = { group: "training", name: "loss" };
  showMetrics({ summaryMetrics }, loss, [
    { batches: 10, values: { loss: 1 } },
    { batches: 20, values: { loss: 2 } },
  ]);
  await vi.waitFor(() =>
    expect(vi.mocked(LineChart).mock.lastCall?.[0].note).toMatch(/^NaN or infinite in some/),
  );
  showMetrics({ summaryMetrics }, loss, [{ batches: 10, values: { loss: "NaN" } }]);
  await vi.waitFor(() => {
    const props = vi.mocked(LineChart).mock.lastCall?.[0];
    expect([...(props?.series[0]?.invalid ?? [])]).toEqual([[10, NaN]]);
    expect(props?.note).toBeUndefined();
  });
});

it("says that profiling.enabled is ignored for scripts", async () => {
  const experiment = { config: { profiling: { enabled: true } } as never };
  showPage(() => <System trial={{ id: 5, experimentId: 1 }} experiment={experiment} />, "/", "/", {
    "GET /api/v1/trials/5/checkpoints": { checkpoints: [] },
    "GET /api/v1/experiments/metrics-stream/metric-names": { result: { metricNames: [] } },
  });
  expect(
    await screen.findByText(/profiling\.enabled is ignored for scripts.*core\.profiler\.on\(\)/),
  ).toBeVisible();
});

it("leaves a gap at each restart", () => {
  const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
  const points = [10, 20, 30].map((batches, i) => ({ batches, time: at(2 * i), values: { l: i } }));
  const positions = findPositions(points, [Date.parse(at(3)), Date.parse(at(9))], "batches");
  expect(positions).toEqual([{ at: 30, index: 2 }]);
  const gapped = withGaps(toColumns(points, "l", "batches"), [2]);
  expect([...gapped.x]).toEqual([10, 20, 25, 30]);
  expect([...gapped.y]).toEqual([0, 1, NaN, 2]);
  expect([...computeThroughput(points, "time").y]).toEqual([NaN, 5, 5]);
  expect([...computeThroughput(points, "time", [2]).y]).toEqual([NaN, 5, NaN]);
  const counted = [
    { batches: 1, time: at(1) },
    { batches: 1, time: at(5) },
    { batches: 2, time: at(2) },
  ];
  expect(sortByAxis(counted, "time").map(({ time }) => time)).toEqual([at(1), at(2), at(5)]);
  expect(sortByAxis(counted, "batches")).toBe(counted);
});

it("distinguishes system metrics from training metrics", () => {
  const metrics = [
    { group: "gpu", name: "0/gpu_util" },
    { group: "network", name: "net_throughput_sent" },
    { group: "training", name: "loss" },
    { group: "inference", name: "gpu_util" },
  ];
  expect(selectMetrics(metrics, true).map(getUnit)).toEqual([" (%)", " (bytes / s)"]);
  expect(selectMetrics(metrics, false).map(getUnit)).toEqual(["", ""]);
});

it("shows why each attempt ended", () => {
  const run = (values: Message["TrialRun"]) =>
    copyGolden<Message["TrialRun"]>(answered.answer.trial.runs[0], values);
  const runs = [
    run({
      exitReason: "FAILED",
      exitCode: 7,
      agentIds: ["a"],
      startTime: "2026-01-01T00:00:00Z",
      endTime: "2026-01-01T00:00:30Z",
    }),
    run({
      runId: 1,
      allocationId: "1.1.1",
      agentIds: ["b"],
      startTime: "2026-01-01T00:01:00Z",
      endTime: undefined,
      exitReason: undefined,
      exitCode: undefined,
    }),
  ];
  render(<Attempts trial={{ runs }} />);
  expect(screen.getByText("failed (exit code 7)")).toBeInTheDocument();
  expect(screen.getByText("running")).toBeInTheDocument();
});

function showTrial(unmanaged: boolean, trial: Partial<Message["Trial"]>, tab = "") {
  const experiment = copyGolden<Experiment>(experimentGolden.answer.experiment, {
    id: 1,
    workspaceId: 7,
    unmanaged,
  });
  return showPage(Trial, "/trials/:id/:tab?", `/trials/5${tab}`, {
    "GET /api/v1/trials/5": {
      trial: copyGolden<Message["Trial"]>(answered.answer.trial, {
        id: 5,
        experimentId: 1,
        ...trial,
      }),
    },
    "GET /api/v1/experiments/1/watch": `data: ${JSON.stringify({ result: { experiment } })}\n\n`,
    "GET /api/v1/trials/5/checkpoints": { checkpoints: [] },
    "GET /api/v1/experiments/metrics-stream/metric-names": { result: { metricNames: [] } },
  });
}

it("explains a lost trial, and offers no actions that its cluster cannot perform", async () => {
  const stateReason = "lost: no sign of life for 5 minutes";
  showTrial(true, { state: "STATE_ERROR", stateReason });
  expect(await screen.findByText("unmanaged")).toBeVisible();
  expect(screen.getByText(stateReason)).toBeVisible();
  expect(screen.getByText(/killed or is disconnected/)).toBeVisible();
  expect(screen.queryByRole("link", { name: /New search/ })).toBeNull();
  expect(screen.getByRole("link", { name: "Compare" })).toBeVisible();
});

it("does not offer to kill an unmanaged trial, whose attempts are unknown", async () => {
  showTrial(true, { state: "STATE_RUNNING", runs: [] }, "/runs");
  expect(await screen.findByText(/attempts of an unmanaged trial/)).toBeVisible();
  expect(screen.queryByRole("button", { name: "Kill" })).toBeNull();
  expect(screen.queryByText(/killed or is disconnected/)).toBeNull();
});

it("offers to kill a trial of the cluster", async () => {
  showTrial(false, { state: "STATE_RUNNING" });
  expect(await screen.findByRole("button", { name: "Kill" })).toBeVisible();
  expect(screen.getByRole("link", { name: "New search from this trial" })).toBeVisible();
  expect(screen.queryByText("unmanaged")).toBeNull();
});

const uuid = "0b5d1d1a-0000-4000-8000-000000000001";

function showCheckpoints(answers: Answers = {}) {
  const checkpoint = copyGolden<Message["Checkpoint"]>(golden.answer.checkpoints[0], {
    uuid,
    resources: { "model.pt": "1500", "dir/": "0" },
    metadata: { steps_completed: 40 } as never,
  });
  return showPage(() => <Checkpoints trial={{ id: 5 }} />, "/", "/", {
    "GET /api/v1/trials/5/checkpoints": { checkpoints: [checkpoint] },
    "POST /api/v1/models/bert/versions": { modelVersion: { version: 3 } },
    ...answers,
  });
}

it("shows a checkpoint's files and registers it as a model version", async () => {
  const page = showCheckpoints();
  expect(await screen.findByText("at 40 batches")).toBeInTheDocument();
  expect(screen.getByText("model.pt")).toBeInTheDocument();
  expect(screen.queryByText("dir/")).not.toBeInTheDocument();
  await userEvent.type(await screen.findByRole("textbox"), "bert");
  await userEvent.click(screen.getByRole("button", { name: "Register" }));
  expect(await screen.findByText("Registered version 3 of bert")).toBeInTheDocument();
  expect(page.getBody("POST /api/v1/models/bert/versions")).toEqual({ checkpointUuid: uuid });
});

it("offers a partially deleted checkpoint for download, not for registration", async () => {
  const checkpoint = copyGolden<Message["Checkpoint"]>(golden.answer.checkpoints[0], {
    state: "STATE_PARTIALLY_DELETED",
  });
  const page = showCheckpoints({
    "GET /api/v1/trials/5/checkpoints": { checkpoints: [checkpoint] },
  });
  expect(await screen.findByText("Partially deleted")).toBeInTheDocument();
  await vi.waitFor(() =>
    expect(page.calls.some(({ what }) => /permissions/.test(what))).toBe(true),
  );
  expect(screen.getByRole("button", { name: "Download" })).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Register" })).toBeNull();
});

it("lets a viewer download a checkpoint but not register it", async () => {
  const page = showCheckpoints(viewer);
  expect(await screen.findByRole("button", { name: "Download" })).toBeEnabled();
  await vi.waitFor(() =>
    expect(page.calls.some(({ what }) => /permissions/.test(what))).toBe(true),
  );
  expect(screen.queryByRole("textbox")).toBeNull();
});

it("joins a file's chunks", async () => {
  const lines = ["ab", "c"].map((text) => JSON.stringify({ result: { chunk: btoa(text) } }));
  vi.stubGlobal("fetch", vi.fn().mockResolvedValue(new Response(lines.join("\n") + "\n")));
  const file = await readFile(uuid, "dir/a b.pt", new AbortController().signal);
  expect(file.size).toBe(3);
});

/** The response for a file with this text. */
const toResponse = (text: string) =>
  new Response(`${JSON.stringify({ result: { chunk: btoa(text) } })}\n`);

it("packs a checkpoint into one archive and reports the progress", async () => {
  vi.stubGlobal(
    "fetch",
    vi.fn((request: Request) =>
      Promise.resolve(toResponse(request.url.endsWith("a.pt") ? "ab" : "c")),
    ),
  );
  const progress: number[] = [];
  const { signal } = new AbortController();
  const resources = { "dir/": "0", "dir/a.pt": "2", "z.pt": "1" };
  const archive = await readArchive(uuid, resources, signal, (bytes) => progress.push(bytes));
  // Blocks: the archive's folder, dir/, two files with one block of content each, and two at the end.
  expect(archive.size).toBe(512 * (1 + 1 + 2 + 2 + 2));
  expect(progress).toEqual([2, 3]);
  const short = readArchive(uuid, { "z.pt": "5" }, signal);
  await expect(short).rejects.toThrow("received 1 of 5 bytes of z.pt");
});

it("cancels a download when the page is left", async () => {
  let downloadRequest: Request | undefined;
  const resources = { "model.pt": "1500" };
  vi.stubGlobal(
    "fetch",
    vi.fn((request: Request) => {
      if (!request.url.includes("/files/")) {
        const checkpoints = [{ uuid, state: "STATE_COMPLETED", resources }];
        return Promise.resolve(Response.json({ checkpoints }));
      }
      downloadRequest = request;
      return new Promise(() => undefined);
    }),
  );
  const { unmount } = render(
    <QueryClientProvider client={new QueryClient()}>
      <Checkpoints trial={{ id: 5 }} />
    </QueryClientProvider>,
  );
  await userEvent.click(await screen.findByText("model.pt"));
  await vi.waitFor(() => expect(downloadRequest).toBeDefined());
  unmount();
  expect(downloadRequest?.signal.aborted).toBe(true);
});
