import { expect, it, vi } from "vitest";
import { readMetricCsv, readThroughputCsv } from "./metricCsv";

/** jsdom's Blob has no text(). */
const readText = (blob: Blob) =>
  new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsText(blob);
  });

it("writes every report of the metric for any number of trials", async () => {
  const requests: string[] = [];
  vi.stubGlobal("fetch", (request: Request) => {
    const { searchParams } = new URL(request.url);
    const [trialId] = searchParams.getAll("trialIds").map(Number);
    requests.push(`${searchParams.get("group") ?? ""} ${searchParams.getAll("trialIds").length}`);
    const endTime = "2026-01-01T00:00:00Z";
    const report = { trialId, totalBatches: 10, endTime };
    const metrics = [
      { ...report, metrics: { avg_metrics: { loss: 0.5, epoch: 2 }, batch_metrics: null } },
      { ...report, metrics: { avg_metrics: { other: 1 } } },
      { ...report, metrics: { validation_metrics: { loss: "NaN" } } },
    ];
    return Promise.resolve(new Response(`${JSON.stringify({ result: { metrics } })}\n`));
  });
  const ids = Array.from({ length: 101 }, (_, i) => i + 1);
  const { signal } = new AbortController();
  const csv = await readMetricCsv(ids, { group: "training", name: "loss" }, signal);
  expect(await readText(csv)).toBe(
    [
      "trial,batches,epoch,time,loss",
      "1,10,2,2026-01-01T00:00:00Z,0.5",
      "1,10,,2026-01-01T00:00:00Z,NaN",
      "101,10,2,2026-01-01T00:00:00Z,0.5",
      "101,10,,2026-01-01T00:00:00Z,NaN",
      "",
    ].join("\r\n"),
  );
  expect(requests).toEqual(["training 100", "training 1"]);
});

it("writes the throughput between reports, but not across a restart", async () => {
  const at = (second: number) => new Date(second * 1000).toISOString();
  const report = (totalBatches: number, second: number, metrics: object = { loss: 1 }) => ({
    trialId: 7,
    totalBatches,
    endTime: at(second),
    metrics: { avg_metrics: metrics },
  });
  const messages = [
    [report(10, 10), report(20, 12), report(25, 13, { other: 1 })],
    [report(30, 14), report(40, 30)],
  ];
  vi.stubGlobal("fetch", () => {
    const lines = messages.map((metrics) => `${JSON.stringify({ result: { metrics } })}\n`);
    return Promise.resolve(new Response(lines.join("")));
  });
  const { signal } = new AbortController();
  const metric = { group: "training", name: "loss" };
  const csv = await readThroughputCsv(7, metric, [20_000], signal);
  expect(await readText(csv)).toBe(
    [
      "trial,batches,time,batches / s",
      "7,20,1970-01-01T00:00:12.000Z,5",
      "7,30,1970-01-01T00:00:14.000Z,5",
      "",
    ].join("\r\n"),
  );
});
