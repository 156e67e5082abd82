import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import overview from "@goldens/overview.json";
import { act, render, screen } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterEach, expect, test, vi } from "vitest";
import { useOverview } from "@/api/useOverview";
import { Frame } from "./Frame";

afterEach(() => vi.useRealTimers());

function Shown({ as }: { as: string }) {
  return <p>{`${as}: ${String(useOverview()?.slots)} slots`}</p>;
}

/** Shows a frame around two components that show the overview; each stream sends one of `slots` and stays open. */
function show(...slots: number[]) {
  const requests: Request[] = [];
  const follow = (request: Request) => {
    requests.push(request);
    const result = { ...overview.answer, slots: slots.shift() };
    return new Response(
      new ReadableStream({
        start(controller) {
          const text = `data: ${JSON.stringify({ result })}\n\n`;
          controller.enqueue(new TextEncoder().encode(text));
          request.signal.addEventListener("abort", () => controller.error(request.signal.reason));
        },
      }),
    );
  };
  vi.stubGlobal("fetch", (request: Request) =>
    Promise.resolve(request.url.includes("/overview") ? follow(request) : Response.json({})),
  );
  const page = [<Shown key="1" as="one" />, <Shown key="2" as="other" />];
  const router = createMemoryRouter([
    { element: <Frame />, children: [{ path: "/", element: page }] },
  ]);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  return requests;
}

test("requests the overview once for all components", async () => {
  const requests = show(16);
  expect(await screen.findByText("one: 16 slots")).toBeVisible();
  expect(screen.getByText("other: 16 slots")).toBeVisible();
  expect(requests).toHaveLength(1);
});

test("updates a hidden page when it becomes visible", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, toFake: ["setTimeout", "clearTimeout"] });
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(false);
  const requests = show(16, 24);
  await screen.findByText("one: 16 slots");
  const turn = (now: boolean) => {
    hidden.mockReturnValue(now);
    document.dispatchEvent(new Event("visibilitychange"));
  };
  turn(true);
  await act(() => vi.advanceTimersByTimeAsync(60_000));
  expect(requests[0]?.signal.aborted).toBe(true);
  expect(requests).toHaveLength(1);
  expect(screen.getByText("one: 16 slots")).toBeVisible();
  turn(false);
  expect(await screen.findByText("one: 24 slots")).toBeVisible();
  expect(requests).toHaveLength(2);
});
