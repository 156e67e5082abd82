import { render, screen } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { LogView } from "./LogView";

const zone = process.env.TZ;
beforeAll(() => {
  process.env.TZ = "Asia/Tokyo";
});
afterAll(() => {
  process.env.TZ = zone;
});

it("says times by the clock here, and the date where it is another", async () => {
  const lines = [
    { id: "1", log: "a", timestamp: "2026-01-31T14:59:59.000Z" },
    { id: "2", log: "b", timestamp: "2026-01-31T15:00:00.250Z" },
    { id: "3", log: "c", timestamp: "2026-01-31T15:00:01.000Z" },
  ].reverse();
  vi.stubGlobal(
    "fetch",
    vi.fn((request: Request) => {
      const text = lines.map((result) => JSON.stringify({ result })).join("\n");
      return Promise.resolve(new Response(request.url.includes("follow") ? "" : text));
    }),
  );
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(600);
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(1000);
  const router = createMemoryRouter([
    { path: "/", element: <LogView trialId={5} follow={false} /> },
  ]);
  render(<RouterProvider router={router} />);
  expect(await screen.findByText("2026-01-31 23:59:59.000")).toBeInTheDocument();
  const midnight = screen.getByText("2026-02-01 00:00:00.250");
  expect(midnight).toHaveAttribute("title", "2026-02-01T00:00:00.250+09:00");
  expect(screen.getByText("00:00:01.000")).toBeInTheDocument();
});
