import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { expect, test, vi } from "vitest";
import { findEntries } from "./entries";
import { Palette } from "./Palette";
import { Shortcuts } from "./Shortcuts";

const overview = { running: [{ id: 42, name: "mnist-asha" }], ended: [{ id: 41, name: "bert" }] };
const labels = (query: string) => findEntries(query, overview).map(({ label }) => label);

test("finds entries by substring, letters and ID", () => {
  expect(labels("")).toEqual([
    "Home",
    "Experiments",
    "Cluster",
    "Models",
    "Workspaces",
    "42 mnist-asha",
    "41 bert",
  ]);
  expect(labels("asha")).toEqual(["42 mnist-asha"]);
  expect(labels("clstr")).toEqual(["Cluster"]);
  expect(labels("41")).toEqual(["41 bert"]);
  expect(labels("7")).toEqual(["Experiment 7"]);
  expect(labels("zzz")).toEqual([]);
});

test("finds workspaces and models only when a query is typed", () => {
  const extraEntries = [
    { to: "/workspaces/3", label: "Vision", hint: "workspace" },
    { to: "/models/vit", label: "vit", hint: "model" },
  ];
  const found = (query: string) =>
    findEntries(query, overview, [], extraEntries).map(({ label }) => label);
  expect(found("vi")).toEqual(["Vision", "vit"]);
  expect(found("")).toEqual(["42 mnist-asha", "41 bert"]);
});

function show() {
  const client = new QueryClient();
  client.setQueryData(["overview"], overview);
  client.setQueryData(["workspaces"], [{ id: 3, name: "Vision" }]);
  client.setQueryData(["models"], [{ name: "vit" }]);
  const router = createMemoryRouter([
    {
      path: "*",
      element: (
        <>
          <Palette />
          <Shortcuts />
        </>
      ),
    },
  ]);
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  return router;
}

test("opens, selects and navigates by keyboard", async () => {
  const router = show();
  await userEvent.keyboard("{Control>}k{/Control}");
  const input = screen.getByRole("combobox", { name: /^Page, experiment/ });
  await userEvent.type(input, "e{ArrowDown}{ArrowDown}");
  const chosen = screen.getByRole("option", { selected: true }).textContent;
  expect(chosen).toContain("Cluster");
  await userEvent.keyboard("{Enter}");
  await vi.waitFor(() => expect(router.state.location.pathname).toBe("/cluster"));
});

test("opens a page with g and a key, except in text fields", async () => {
  const router = show();
  await userEvent.keyboard("gc");
  await vi.waitFor(() => expect(router.state.location.pathname).toBe("/cluster"));
  await userEvent.keyboard("/");
  await userEvent.type(screen.getByRole("combobox"), "gh");
  expect(router.state.location.pathname).toBe("/cluster");
});

test("opens a model", async () => {
  const router = show();
  await userEvent.keyboard("/");
  await userEvent.type(screen.getByRole("combobox"), "vit{Enter}");
  await vi.waitFor(() => expect(router.state.location.pathname).toBe("/models/vit"));
});

test("shows the shortcuts with ?, except in text fields", async () => {
  show();
  await userEvent.keyboard("/");
  await userEvent.type(screen.getByRole("combobox"), "?");
  expect(screen.queryByRole("dialog", { name: "Keyboard shortcuts" })).toBeNull();
  (document.activeElement as HTMLElement).blur();
  await userEvent.keyboard("?");
  const overviewOfKeys = screen.getByRole("dialog", { name: "Keyboard shortcuts" });
  expect(overviewOfKeys.textContent).toContain("gcCluster");
});
