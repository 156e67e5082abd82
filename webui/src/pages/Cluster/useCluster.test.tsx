import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import * as overview from "@/api/useOverview";
import { useQueues } from "./useCluster";

it("keeps the rows while they are refetched, and counts them", async () => {
  let waiting = 3;
  const held: (() => void)[] = [];
  vi.spyOn(overview, "useOverview").mockImplementation(() => ({
    pools: [{ name: "gpu" }],
    jobsWaiting: waiting,
  }));
  const limits: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    limits.push(new URL(request.url).searchParams.get("limit") ?? "");
    if (limits.length > 1) await new Promise<void>((go) => held.push(go));
    const jobs = Array.from({ length: waiting }, (_, i) => ({ jobId: `exp-${i}` }));
    return Response.json({ jobs, pagination: { total: 250 } });
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const { result, rerender } = renderHook(({ limit }) => useQueues(limit), {
    initialProps: { limit: 100 },
    wrapper: ({ children }) => (
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    ),
  });
  await waitFor(() => expect(result.current.jobs).toHaveLength(3));
  expect(result.current.total).toBe(250);
  waiting = 4;
  rerender({ limit: 200 });
  await waitFor(() => expect(held).toHaveLength(1));
  expect(result.current).toMatchObject({ loading: false });
  expect(result.current.jobs).toHaveLength(3);
  act(() => held[0]?.());
  await waitFor(() => expect(result.current.jobs).toHaveLength(4));
  expect(limits).toEqual(["100", "200"]);
});
