import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { expect, test, vi } from "vitest";
import { findEntries, parseId } from "./entries";
import { Palette } from "./Palette";
import { Shortcuts } from "./Shortcuts";

const overview = { running: [{ id: 42, name: "mnist-asha" }], ended: [{ id: 41, name: "bert" }] };
const labels = (query: string) => findEntries(query, overview).map(({ label }) => label);

test("finds entries by substring, letters and ID", () => {
  expect(labels("")).toEqual([
    "Home",
    "Experiments",
    "Tasks",
    "Cluster",
    "Models",
    "Workspaces",
    "42 mnist-asha",
    "41 bert",
  ]);
  expect(labels("asha")).toEqual(["42 mnist-asha"]);
  expect(labels("clstr")).toEqual(["Cluster"]);
  expect(labels("41")).toEqual(["41 bert"]);
  expect(labels("zzz")).toEqual([]);
});

test("finds workspaces and models only when a query is typed, also by letters that are apart", () => {
  const others = [
    { to: "/workspaces/3", label: "Vision", hint: "workspace" },
    { to: "/models/vit", label: "vit", hint: "model" },
  ];
  const found = (query: string) =>
    findEntries(query, overview, [], others).map(({ label }) => label);
  expect(found("vi")).toEqual(["Vision", "vit"]);
  expect(found("vn")).toEqual(["Vision"]);
  expect(found("")).toEqual(["42 mnist-asha", "41 bert"]);
});

test("offers no experiment by an ID that the master has not found", () => {
  expect(labels("7")).toEqual([]);
});

test("lists the experiment and the trial with an ID first, then pages, then the other results", () => {
  const found = [
    { to: "/trials/42", label: "Trial 42 of 7 bert", hint: "trial" },
    { to: "/experiments/42", label: "42 mnist-asha", hint: "experiment" },
    { to: "/models/v42", label: "v42", hint: "model" },
  ];
  const find = (query: string) =>
    findEntries(query, overview, undefined, [], found).map(({ label }) => label);
  expect(find("42")).toEqual(["42 mnist-asha", "Trial 42 of 7 bert", "v42"]);
  expect(find("mod")[0]).toBe("Models");
});

test.each([
  ["47", { id: 47, kind: undefined }],
  [" #47 ", { id: 47, kind: undefined }],
  ["Trial 47", { id: 47, kind: "trial" }],
  ["experiment 4", { id: 4, kind: "experiment" }],
  ["0", undefined],
  ["99999999999", undefined],
  ["v2", undefined],
])("reads the ID of %s", (query, id) => expect(parseId(query)).toEqual(id));

interface Condition {
  columnName: string;
  value: string | number;
}

/** A fake master with experiment 4 "broken", trial 47 of it, and more; `refused` paths fail. */
function serve(refused: string[] = []) {
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (refused.includes(pathname))
      return Response.json({ error: { error: "the database is away" } }, { status: 503 });
    const name = searchParams.get("name") ?? "";
    const isAll = !searchParams.has("name");
    const named = <T extends object>(each: T, text: string) =>
      !isAll && text.includes(name) ? [each] : [];
    if (request.method === "POST") {
      const { filter } = (await request.json()) as { filter: string };
      const { filterGroup, showArchived } = JSON.parse(filter) as {
        filterGroup: { children: [Condition] };
        showArchived: boolean;
      };
      const [{ columnName, value }] = filterGroup.children;
      const has = (id: number, text: string) =>
        showArchived && (columnName === "id" ? value === id : text.includes(String(value)));
      if (pathname === "/api/v1/runs") {
        const runs = has(47, "") ? [{ id: 47, experiment: { id: 4, name: "broken" } }] : [];
        return Response.json({ runs });
      }
      const experiments = has(4, "broken") ? [{ experiment: { id: 4, name: "broken" } }] : [];
      const total = value === "o" ? 30 : experiments.length;
      return Response.json({ experiments, pagination: { total } });
    }
    return Response.json({
      models: named({ name: "vit" }, "vit"),
      users: named({ id: 5, username: "vicky", displayName: "Vicky V" }, "vicky"),
      workspaces: named({ id: 3, name: "vision" }, "vision"),
      projects: named({ id: 8, name: "video", workspaceName: "vision" }, "video"),
    });
  });
}

function show() {
  const client = new QueryClient();
  client.setQueryData(["overview"], overview);
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

/** Types a query and returns the options after the search. */
async function search(query: string) {
  await userEvent.keyboard("/");
  const input = screen.getByRole("combobox");
  await userEvent.clear(input);
  await userEvent.type(input, query);
  await vi.waitFor(() => expect(screen.queryByText("Searching…")).toBeNull());
  return screen.queryAllByRole("option").map(({ textContent }) => textContent);
}

test("finds every kind of object through the master", async () => {
  serve();
  show();
  expect(await search("broken")).toEqual(["4 brokenexperiment"]);
  expect(await search("vi")).toEqual([
    "vitmodel",
    "vicky (Vicky V)user",
    "visionworkspace",
    "vision / videoproject",
  ]);
  expect(await search("o")).toContain('All experiments with "o"list');
});

test("offers an ID as what it is, and nothing for an ID that does not exist", async () => {
  serve();
  show();
  expect(await search("47")).toEqual(["Trial 47 of 4 brokentrial"]);
  expect(await search("4")).toContain("4 brokenexperiment");
  expect(await search("trial 4")).toEqual([]);
  expect(await search("46")).toEqual([]);
  expect(screen.getByText("No results.")).toBeInTheDocument();
});

test("says which part of a search failed and shows the other results", async () => {
  serve(["/api/v1/models"]);
  show();
  expect(await search("vic")).toEqual(["vicky (Vicky V)user"]);
  expect(screen.getByText("The search is incomplete: the database is away")).toBeInTheDocument();
});

test("opens, selects and navigates by keyboard", async () => {
  serve();
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
  serve();
  const router = show();
  await userEvent.keyboard("gc");
  await vi.waitFor(() => expect(router.state.location.pathname).toBe("/cluster"));
  await userEvent.keyboard("/");
  await userEvent.type(screen.getByRole("combobox"), "gh");
  expect(router.state.location.pathname).toBe("/cluster");
});

test("opens the first result when Enter is pressed before the search has ended", async () => {
  serve();
  const router = show();
  await userEvent.keyboard("/");
  await userEvent.type(screen.getByRole("combobox"), "vit{Enter}");
  await vi.waitFor(() => expect(router.state.location.pathname).toBe("/models/vit"));
});

/** A master that answers only after `release`. */
function hold() {
  serve();
  const answer = fetch;
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  vi.stubGlobal("fetch", async (request: Request) => {
    await held;
    return answer(request);
  });
  return release;
}

test("opens nothing after Enter when the palette is closed or another entry is chosen", async () => {
  const release = hold();
  const router = show();
  await userEvent.keyboard("/");
  const dialog = screen.getByRole<HTMLDialogElement>("dialog", { name: "Go to" });
  await userEvent.type(screen.getByRole("combobox"), "vit{Enter}");
  dialog.close();
  dialog.dispatchEvent(new Event("close"));
  (document.activeElement as HTMLElement).blur();
  await userEvent.keyboard("/");
  await userEvent.type(screen.getByRole("combobox"), "e{Enter}");
  release();
  await userEvent.clear(screen.getByRole("combobox"));
  await vi.waitFor(() => expect(screen.queryByText("Searching…")).toBeNull());
  expect(router.state.location.pathname).toBe("/");
});

test("does not wait for the master to open a page", async () => {
  hold();
  const router = show();
  await userEvent.keyboard("/");
  await userEvent.type(screen.getByRole("combobox"), "clu{Enter}");
  await vi.waitFor(() => expect(router.state.location.pathname).toBe("/cluster"));
});

test("keeps the chosen entry when others are found before it", async () => {
  const release = hold();
  show();
  await userEvent.keyboard("/");
  // The letters are apart in "bert", which what the master finds precedes.
  await userEvent.type(
    screen.getByRole("combobox"),
    "o{ArrowDown}{ArrowDown}{ArrowDown}{ArrowDown}",
  );
  const chosen = () => screen.getByRole("option", { selected: true }).textContent;
  const before = chosen();
  release();
  await vi.waitFor(() => expect(screen.queryByText("Searching…")).toBeNull());
  expect(chosen()).toBe(before);
});

test("shows the shortcuts with ?, except in text fields", async () => {
  serve();
  show();
  await userEvent.keyboard("/");
  await userEvent.type(screen.getByRole("combobox"), "?");
  expect(screen.queryByRole("dialog", { name: "Keyboard shortcuts" })).toBeNull();
  (document.activeElement as HTMLElement).blur();
  await userEvent.keyboard("?");
  const overviewOfKeys = screen.getByRole("dialog", { name: "Keyboard shortcuts" });
  expect(overviewOfKeys.textContent).toContain("gcCluster");
});
