import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter } from "react-router";
import { expect, it, vi } from "vitest";
import { ExperimentDiff, differingFiles } from "./ExperimentDiff";
import { HyperparameterTable } from "./HyperparameterTable";

const bytes = (text: string) => new TextEncoder().encode(text);
const file = (path: string, text: string) => ({ path, content: bytes(text) });

it("lists changed, added and removed files", () => {
  const before = [file("a.py", "x"), file("b.py", "x"), file("old.py", "x")];
  const after = [file("a.py", "y"), file("b.py", "x"), file("new.py", "x")];
  expect(differingFiles(before, after).map(({ path, mark }) => `${path} ${mark}`)).toEqual([
    "a.py (differs)",
    "new.py (added)",
    "old.py (removed)",
  ]);
});

const show = (page: React.ReactNode) =>
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MemoryRouter>{page}</MemoryRouter>
    </QueryClientProvider>,
  );

it("diffs configurations and reads nothing while closed", async () => {
  const requests: string[] = [];
  vi.stubGlobal("fetch", (request: Request) => {
    requests.push(new URL(request.url).pathname);
    return Promise.resolve(Response.json({ b64Tgz: "" }));
  });
  const first = { id: 1, config: { name: "a", searcher: { metric: "loss" } } as never };
  const second = { id: 2, config: { name: "b", searcher: { metric: "loss" } } as never };
  show(<ExperimentDiff first={first} second={second} isOpen={false} />);
  expect(requests).toEqual([]);
  await userEvent.click(screen.getByText("Experiment 2 compared with 1"));
  const text = (await screen.findByLabelText("2 changed lines")).textContent;
  expect(text).toContain("- name: a\n+ name: b\n");
  expect(await screen.findByText("No differences.")).toBeVisible();
  expect(requests.sort()).toEqual([
    "/api/v1/experiments/1/model_def",
    "/api/v1/experiments/2/model_def",
  ]);
});

it("shows differing hyperparameters and highlights them among all", async () => {
  const trials = [
    { id: 7, hparams: { lr: 0.1, act: "relu" } as never },
    { id: 9, hparams: { lr: 0.2, act: "relu" } as never },
  ];
  show(<HyperparameterTable trials={trials} />);
  expect(screen.getByText("lr")).toBeVisible();
  expect(screen.queryByText("act")).toBeNull();
  await userEvent.click(screen.getByLabelText("Show identical"));
  expect(screen.getByText("act").closest("tr")?.textContent).not.toContain("≠");
  expect(screen.getByText("lr").closest("tr")?.textContent).toContain("≠");
});
