import { expect, it, vi } from "vitest";
import { readMetricCsv } from "./metricCsv";

/** jsdom's Blob has no text(). */
const textOf = (blob: Blob) =>
  new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsText(blob);
  });

it("writes every report that has the metric, of as many trials as there are", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (request: Request) => {
    const { searchParams } = new URL(request.url);
    const [trialId] = searchParams.getAll("trialIds").map(Number);
    asked.push(`${searchParams.get("group") ?? ""} ${searchParams.getAll("trialIds").length}`);
    const endTime = "2026-01-01T00:00:00Z";
    const report = { trialId, totalBatches: 10, endTime };
    const metrics = [
      { ...report, metrics: { loss: 0.5, epoch: 2 } },
      { ...report, metrics: { other: 1 } },
      { ...report, metrics: { loss: "NaN" } },
    ];
    return Promise.resolve(new Response(`${JSON.stringify({ result: { metrics } })}\n`));
  });
  const ids = Array.from({ length: 101 }, (_, i) => i + 1);
  const { signal } = new AbortController();
  const csv = await readMetricCsv(ids, { group: "training", name: "loss" }, signal);
  expect(await textOf(csv)).toBe(
    [
      "trial,batches,epoch,time,loss",
      "1,10,2,2026-01-01T00:00:00Z,0.5",
      "1,10,,2026-01-01T00:00:00Z,NaN",
      "101,10,2,2026-01-01T00:00:00Z,0.5",
      "101,10,,2026-01-01T00:00:00Z,NaN",
      "",
    ].join("\r\n"),
  );
  expect(asked).toEqual(["training 100", "training 1"]);
});
