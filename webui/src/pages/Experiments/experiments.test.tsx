import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { describe, expect, it, vi } from "vitest";
import columns from "@goldens/columns.json";
import experiments from "@goldens/experiments.json";
import ranges from "@goldens/ranges.json";
import runs from "@goldens/runs.json";
import { findRole, holding } from "@/testing/pages";
import { formatCount } from "@/text";
import "./CompareDrawer";
import Experiments from "./Experiments";

// jsdom has no canvas.
vi.mock("@/charts/LineChart", () => ({ LineChart: () => null }));

describe("experiments page", () => {
  const requests: { path: string; body: string }[] = [];
  const show = (addresses: string | string[], found: object = experiments.answer) => {
    requests.length = 0;
    vi.stubGlobal(
      "fetch",
      vi.fn(async (request: Request) => {
        const path = new URL(request.url).pathname;
        requests.push({ path, body: request.method === "POST" ? await request.text() : "" });
        const answers = Object.entries({
          "/api/v1/experiments-search": found,
          "/api/v1/runs": runs.answer,
          "/api/v1/permissions/summary": holding(findRole("ClusterAdmin"))[
            "GET /api/v1/permissions/summary"
          ],
          "/api/v1/workspaces/0/projects": { projects: [{ id: 1 }] },
          "/api/v1/projects/1/columns": columns.answer,
          "/api/v1/projects/1": { project: { id: 1, name: "nets" } },
          "/api/v1/projects/1/experiments/metric-ranges": ranges.answer,
        });
        return Response.json(answers.find(([known]) => known === path)?.[1] ?? {});
      }),
    );
    // jsdom has no layout; without a size no row is visible.
    vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(600);
    vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(1000);
    const router = createMemoryRouter([{ path: "/experiments", element: <Experiments /> }], {
      initialEntries: [addresses].flat(),
    });
    render(
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={router} />
      </QueryClientProvider>,
    );
    return router;
  };

  it("shows the view in the address", async () => {
    show("/experiments?columns=id,name,validation.loss.min&heat=validation.loss.min");
    const table = await screen.findByRole("table", { name: "Experiments" });
    expect(await within(table).findByRole("link", { name: "mnist-random" })).toHaveAttribute(
      "href",
      "/experiments/1",
    );
    const cell = within(table).getByText("0.03267");
    expect(cell.closest("[role=cell]")).toHaveStyle({ color: "rgb(0, 0, 0)" });
  });

  it("keeps the sort in the address and sends it to the master", async () => {
    const router = show("/experiments");
    await userEvent.click(await screen.findByRole("button", { name: "Name" }));
    expect(router.state.location.search).toBe("?sort=name%3Dasc");
    await vi.waitFor(() =>
      expect(requests.some(({ body }) => body.includes('"sort":"name=asc"'))).toBe(true),
    );
  });

  it("prefetches the next rows only", async () => {
    const pagination = { total: 1000 };
    show("/experiments", { ...experiments.answer, pagination });
    await screen.findByRole("link", { name: "mnist-random" });
    const offsets = () =>
      requests
        .filter(({ path }) => path.endsWith("/experiments-search"))
        .map(({ body }) => (JSON.parse(body) as { offset: number }).offset);
    await vi.waitFor(() => expect(offsets()).toContain(100));
    expect(offsets()).toEqual([0, 100]);
  });

  it("shows the position of a filter error instead of the previous rows and their number", async () => {
    show("/experiments");
    await screen.findByRole("link", { name: "mnist-random" });
    const count = formatCount(experiments.answer.pagination.total, "experiment");
    expect(screen.getByText(count)).toBeInTheDocument();
    const sentence = screen.getByRole("combobox", { name: "Filter" });
    await userEvent.type(sentence, "colour is red{Enter}");
    expect(await screen.findByText('unknown column "colour" (character 1)')).toBeInTheDocument();
    expect(screen.queryByRole("link", { name: "mnist-random" })).toBeNull();
    expect(screen.queryByText(count)).toBeNull();
    const bodies = requests.filter(({ path }) => path.endsWith("/experiments-search"));
    expect(bodies).toHaveLength(1);
  });

  it("offers the columns that may have been meant, and uses the one that is clicked", async () => {
    const router = show("/experiments?filter=id+>+0+and+accurcy+>+0.9");
    await userEvent.click(await screen.findByRole("button", { name: "validation.accuracy" }));
    expect(new URLSearchParams(router.state.location.search).get("filter")).toBe(
      "id > 0 and validation.accuracy > 0.9",
    );
    expect(await screen.findByRole("link", { name: "mnist-random" })).toBeInTheDocument();
  });

  it("finds experiments by the example of the filter", async () => {
    show("/experiments");
    await screen.findByRole("link", { name: "mnist-random" });
    const sentence = screen.getByRole<HTMLInputElement>("combobox", { name: "Filter" });
    expect(sentence.placeholder).toBe("state is running and lr < 0.01");
    await userEvent.type(sentence, `${sentence.placeholder}{Enter}`);
    await vi.waitFor(() =>
      expect(requests.map(({ body }) => body).join()).toContain('\\"columnName\\":\\"hp.lr\\"'),
    );
    expect(sentence).toBeValid();
  });

  it("shows the heads of known columns, and placeholders for others, until the columns are loaded", async () => {
    show("/experiments?sort=&columns=id,numTrials,tags,hp.optimizer,validation.loss.last");
    const heads = screen.getAllByRole("columnheader").slice(1);
    const read = () =>
      heads.map((head) => [head.textContent, /number/.test(head.className) ? "right" : "left"]);
    const loaded = (hyperparameter: string) => [
      ["ID", "left"],
      ["Trials", "right"],
      ["Labels", "left"],
      [hyperparameter, "left"],
      ["validation.loss.last", "right"],
    ];
    expect(read()).toEqual(loaded(""));
    await screen.findByText("optimizer", { selector: "button" });
    expect(read()).toEqual(loaded("optimizer"));
  });

  it("requests no rows while the filter is invalid", async () => {
    show("/experiments?filter=colour+is+red");
    expect(await screen.findByText("Correct the filter to see experiments.")).toBeInTheDocument();
    expect(requests.map(({ path }) => path)).not.toContain("/api/v1/experiments-search");
  });

  it("clears selected runs when the list changes to experiments", async () => {
    // An experiment and a run with the same ID.
    const experiments = [{ experiment: { id: 11, name: "precious" } }];
    const router = show(["/experiments", "/experiments?of=runs"], {
      experiments,
      pagination: { total: 1 },
    });
    await userEvent.click(await screen.findByRole("checkbox", { name: "Select 11" }));
    expect(screen.getByText("1 selected")).toBeInTheDocument();
    await act(() => router.navigate(-1));
    expect(await screen.findByRole("link", { name: "precious" })).toBeInTheDocument();
    expect(screen.queryByText("1 selected")).not.toBeInTheDocument();
    expect(screen.getByRole("checkbox", { name: "Select 11" })).not.toBeChecked();
  });

  it("selects the visible rows and kills them after a confirmation", async () => {
    const many = Array.from({ length: 100 }, (_, i) => ({ experiment: { id: i + 1, name: "a" } }));
    show("/experiments", { experiments: many, pagination: { total: 1000 } });
    await screen.findByRole("checkbox", { name: "Select 1" });
    await userEvent.click(screen.getByRole("checkbox", { name: "Select visible rows" }));
    // 600 pixels with a head of 32; the last row is partly visible.
    expect(screen.getByText("18 selected")).toBeInTheDocument();
    const confirm = vi.fn().mockReturnValue(false);
    vi.stubGlobal("confirm", confirm);
    await vi.waitFor(() => expect(screen.getByRole("button", { name: "Kill" })).toBeEnabled());
    await userEvent.click(screen.getByRole("button", { name: "Kill" }));
    expect(confirm).toHaveBeenCalledWith(expect.stringContaining("Kill 18 experiments?"));
    expect(requests.filter(({ path }) => path.endsWith("/kill"))).toHaveLength(0);
    confirm.mockReturnValue(true);
    await userEvent.click(screen.getByRole("button", { name: "Kill" }));
    expect(await screen.findByText("18 killed")).toBeInTheDocument();
  });

  it("selects all matching rows, including unloaded ones, and confirms their number", async () => {
    const many = Array.from({ length: 100 }, (_, i) => ({ experiment: { id: i + 1, name: "a" } }));
    show("/experiments", { experiments: many, pagination: { total: 100 } });
    await userEvent.click(await screen.findByRole("checkbox", { name: "Select 3" }));
    await userEvent.click(screen.getByRole("button", { name: "Select all 100 matching rows" }));
    expect(await screen.findByText("100 selected")).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: /matching rows/ })).toBeNull();
    const search = requests.at(-1)?.body ?? "{}";
    expect(JSON.parse(search)).toMatchObject({ sort: "id=asc", offset: 0, limit: 500 });
    const confirm = vi.fn().mockReturnValue(true);
    vi.stubGlobal("confirm", confirm);
    await vi.waitFor(() => expect(screen.getByRole("button", { name: "Archive" })).toBeEnabled());
    await userEvent.click(screen.getByRole("button", { name: "Archive" }));
    expect(confirm).toHaveBeenCalledWith("Archive 100 experiments?");
    expect(await screen.findByText("100 archived")).toBeInTheDocument();
  });

  it("formats chosen conditions as a sentence and shows a sentence's conditions", async () => {
    const router = show("/experiments?filter=id+>+1+or+id+is+empty");
    await screen.findByRole("link", { name: "mnist-random" });
    await userEvent.click(screen.getByText("Conditions"));
    expect(screen.getByText("Conditions")).toHaveTextContent("Conditions 2");
    expect(screen.getAllByLabelText("Operator")[0]).toHaveValue(">");
    await userEvent.click(screen.getAllByRole("button", { name: "Remove ID" })[1] as Element);
    const sentence = screen.getByRole("combobox", { name: "Filter" });
    await vi.waitFor(() => expect(sentence).toHaveValue("id > 1"));
    // A condition without a value does not filter, but stays in the editor.
    await userEvent.click(screen.getByRole("button", { name: "Add condition" }));
    await userEvent.type(screen.getAllByLabelText("Column")[1] as Element, "state");
    expect(screen.getAllByLabelText("Column")).toHaveLength(2);
    expect(new URLSearchParams(router.state.location.search).get("filter")).toBe("id > 1");
    await userEvent.type(screen.getAllByLabelText("Value")[1] as Element, "error");
    await vi.waitFor(() => expect(sentence).toHaveValue("id > 1 or state is error"));
    await vi.waitFor(() =>
      expect(requests.map(({ body }) => body).join()).toMatch(/"value\\*":\\*"error/i),
    );
    // A typed sentence replaces the conditions.
    await userEvent.clear(sentence);
    await userEvent.type(sentence, "numTrials = 3{Enter}");
    await vi.waitFor(() => expect(screen.getByLabelText("Column")).toHaveValue("numTrials"));
  });

  it("keeps an invalid sentence until it is replaced", async () => {
    const router = show("/experiments?filter=colour+is+red");
    await userEvent.click(await screen.findByText("Conditions"));
    expect(
      await screen.findByText(/Invalid filter \(unknown column "colour"\)/),
    ).toBeInTheDocument();
    await userEvent.click(screen.getByRole("button", { name: "Add condition" }));
    expect(router.state.location.search).toContain("colour");
    await userEvent.type(screen.getByLabelText("Column"), "state");
    await userEvent.type(screen.getByLabelText("Value"), "error");
    await vi.waitFor(() => expect(router.state.location.search).toBe("?filter=state+is+error"));
    expect(screen.queryByText(/Invalid filter/)).toBeNull();
  });

  it("shows lower rows in compact mode", async () => {
    const many = Array.from({ length: 100 }, (_, i) => ({ experiment: { id: i + 1, name: "a" } }));
    const router = show("/experiments", { experiments: many, pagination: { total: 100 } });
    await screen.findByRole("checkbox", { name: "Select 1" });
    await userEvent.click(screen.getByText("Columns"));
    await userEvent.click(screen.getByLabelText("Compact rows"));
    await vi.waitFor(() => expect(router.state.location.search).toBe("?rows=compact"));
    await userEvent.click(screen.getByRole("checkbox", { name: "Select visible rows" }));
    // 600 pixels with a head of 28; the last row is partly visible.
    expect(await screen.findByText("21 selected")).toBeInTheDocument();
  });

  it("shows a metric with the same decimals in each row", async () => {
    const values = [0.5, 0.03266, 0.000012];
    const found = values.map((bestTrialSearcherMetric, i) => ({
      experiment: { id: i + 1, name: "a", bestTrialSearcherMetric },
    }));
    show("/experiments", { experiments: found, pagination: { total: 3 } });
    expect(await screen.findByText("0.5000")).toBeInTheDocument();
    expect(screen.getByText("0.0327")).toBeInTheDocument();
    // Too small for the column's decimals, but not shown as zero.
    expect(screen.getByText("1.2e-5")).toBeInTheDocument();
  });

  it("deselects deleted rows and reports the result", async () => {
    const many = [1, 2].map((id) => ({ experiment: { id, name: "a" } }));
    show("/experiments", { experiments: many, pagination: { total: 2 } });
    await userEvent.click(await screen.findByRole("checkbox", { name: "Select 1" }));
    vi.stubGlobal("confirm", () => true);
    await vi.waitFor(() => expect(screen.getByRole("button", { name: "Delete" })).toBeEnabled());
    await userEvent.click(screen.getByRole("button", { name: "Delete" }));
    expect(await screen.findByText("1 deleted")).toBeInTheDocument();
    expect(screen.queryByText("1 selected")).not.toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Kill" })).not.toBeInTheDocument();
    await userEvent.click(screen.getByRole("checkbox", { name: "Select 2" }));
    expect(screen.getByText("1 selected")).toBeInTheDocument();
  });

  it("deselects archived rows, which the table no longer shows", async () => {
    show("/experiments");
    await userEvent.click(await screen.findByRole("checkbox", { name: "Select 1" }));
    await vi.waitFor(() => expect(screen.getByRole("button", { name: "Archive" })).toBeEnabled());
    await userEvent.click(screen.getByRole("button", { name: "Archive" }));
    expect(await screen.findByText("1 archived")).toBeInTheDocument();
    expect(screen.queryByText("1 selected")).not.toBeInTheDocument();
  });

  it("shows the project, keeps it for runs, and removes it on request", async () => {
    const none = { experiments: [], pagination: { total: 0 } };
    const router = show("/experiments?project=1&archived=1", none);
    expect(await screen.findByRole("link", { name: "nets" })).toHaveAttribute(
      "href",
      "/projects/1",
    );
    expect(
      await screen.findByText(/^No unarchived experiments in this project/),
    ).toBeInTheDocument();
    await userEvent.click(screen.getByRole("button", { name: "Trials" }));
    expect(router.state.location.search).toBe("?of=runs&project=1");
    await userEvent.click(await screen.findByRole("button", { name: "Clear project filter nets" }));
    expect(router.state.location.search).toBe("?of=runs");
    expect(screen.queryByRole("link", { name: "nets" })).not.toBeInTheDocument();
  });

  it("requests metric ranges only when a column is coloured", async () => {
    const reads = () => requests.filter(({ path }) => path.endsWith("/metric-ranges"));
    show("/experiments");
    await screen.findByRole("checkbox", { name: "Select 1" });
    await vi.waitFor(() =>
      expect(requests.some(({ path }) => path.endsWith("/columns"))).toBe(true),
    );
    expect(reads()).toHaveLength(0);
    cleanup();
    show("/experiments?heat=validation.loss.last");
    await vi.waitFor(() => expect(reads()).toHaveLength(1));
  });

  it("applies an action to the selected rows and reports their number", async () => {
    show("/experiments?archived=yes");
    await userEvent.click(await screen.findByRole("checkbox", { name: "Select 1" }));
    await vi.waitFor(() => expect(screen.getByRole("button", { name: "Archive" })).toBeEnabled());
    await userEvent.click(screen.getByRole("button", { name: "Archive" }));
    expect(await screen.findByText("1 archived")).toBeInTheDocument();
    expect(
      requests.find(({ path }) => path === "/api/v1/projects/1/experiments/archive")?.body,
    ).toBe('{"experimentIds":[1]}');
    await userEvent.click(screen.getByRole("button", { name: "Compare 1 trial" }));
    const drawer = within(await screen.findByRole("complementary", { name: "Compared trials" }));
    expect(drawer.getByRole("link", { name: "Open as a page" })).toHaveAttribute(
      "href",
      "/compare?trials=11",
    );
    await userEvent.click(drawer.getByRole("button", { name: "Close" }));
    expect(screen.queryByRole("complementary")).toBeNull();
  });
});
