import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { expect, it, vi } from "vitest";
import { showPage } from "@/testing/pages";
import { SavedViews } from "./SavedViews";

/** Shows the list; returns the views that the fake master stores. */
function show(kept: () => Promise<string[]>) {
  const saved: string[][] = [];
  vi.stubGlobal(
    "fetch",
    vi.fn(async (request: Request) => {
      if (request.method === "POST") {
        const { settings } = (await request.json()) as { settings: [{ value: string }] };
        const views = JSON.parse(settings[0].value) as { name: string }[];
        saved.push(views.map((view) => view.name));
        return Response.json({});
      }
      const views = (await kept()).map((name) => ({ name, query: "" }));
      const value = JSON.stringify(views);
      return Response.json({ settings: [{ key: "views", storagePath: "experiments", value }] });
    }),
  );
  const router = createMemoryRouter([{ path: "/", element: <SavedViews query="q=a" /> }]);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  return saved;
}

it("does not save before the stored views are loaded", async () => {
  show(() => new Promise(() => undefined));
  expect(await screen.findByRole("button", { name: "Save", hidden: true })).toBeDisabled();
});

it("keeps views that another browser saved meanwhile", async () => {
  const kept = ["mine"];
  const saved = show(() => Promise.resolve([...kept]));
  await screen.findByText("mine");
  kept.push("other");
  await userEvent.type(screen.getByLabelText("Name of this view"), "new{Enter}");
  await vi.waitFor(() => expect(saved).toEqual([["mine", "other", "new"]]));
  const confirm = vi.fn().mockReturnValue(false);
  vi.stubGlobal("confirm", confirm);
  await userEvent.click(screen.getByLabelText("Delete view mine"));
  expect(confirm).toHaveBeenCalledOnce();
  expect(saved).toHaveLength(1);
});

it("shows a refusal and its request ID", async () => {
  showPage(() => <SavedViews query="q=a" />, "/", "/", {
    "GET /api/v1/users/setting": { settings: [] },
    "POST /api/v1/users/setting": new Error("the database is unavailable"),
  });
  await vi.waitFor(() =>
    expect(screen.getByRole("button", { name: "Save", hidden: true })).toBeEnabled(),
  );
  await userEvent.type(screen.getByLabelText("Name of this view"), "new{Enter}");
  expect(await screen.findByText("the database is unavailable")).toBeInTheDocument();
  expect(screen.getByText("Request ID r-1")).toBeInTheDocument();
});
