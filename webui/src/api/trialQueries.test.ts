import { QueryClient } from "@tanstack/react-query";
import { expect, it, vi } from "vitest";
import { metricNamesQuery, prefetchTrial, trialQuery } from "./trialQueries";

const stub = (answers: Record<string, Response>) => {
  const requests: string[] = [];
  vi.stubGlobal("fetch", (request: Request) => {
    const { pathname, search } = new URL(request.url);
    requests.push(pathname + search);
    return Promise.resolve(answers[pathname] ?? Response.json({ error: {} }, { status: 404 }));
  });
  return requests;
};
const names = "/api/v1/experiments/metrics-stream/metric-names";

it("prefetches a trial and its metric names once", async () => {
  const metricNames = [{ group: "training", name: "loss" }];
  const requests = stub({
    "/api/v1/trials/5": Response.json({ trial: { id: 5, experimentId: 2 } }),
    [names]: Response.json({ result: { metricNames } }),
  });
  const client = new QueryClient();
  await prefetchTrial(client, 5);
  expect(requests).toEqual(["/api/v1/trials/5", `${names}?ids=2`]);
  expect(await client.query(trialQuery(5))).toMatchObject({ experimentId: 2 });
  expect(await client.query(metricNamesQuery(2))).toEqual(metricNames);
  expect(requests).toHaveLength(2);
});

it("prefetches no metric names for tabs without metrics", async () => {
  const requests = stub({
    "/api/v1/trials/5": Response.json({ trial: { id: 5, experimentId: 2 } }),
  });
  await prefetchTrial(new QueryClient(), 5, "logs");
  expect(requests).toEqual(["/api/v1/trials/5"]);
});

it("leaves a missing trial to the page", async () => {
  const requests = stub({});
  await prefetchTrial(new QueryClient({ defaultOptions: { queries: { retry: false } } }), 5);
  expect(requests).toEqual(["/api/v1/trials/5"]);
});
