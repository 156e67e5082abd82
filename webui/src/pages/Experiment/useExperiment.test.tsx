import { QueryClient, QueryClientProvider, useQueryClient } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import golden from "@goldens/experiment.json";
import type { Experiment } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { useExperiment } from "./useExperiment";

function Shown() {
  const client = useQueryClient();
  const { experiment } = useExperiment(1);
  return (
    <button onClick={() => void client.invalidateQueries({ queryKey: ["experiment", 1] })}>
      {experiment?.state} {experiment?.notes}
    </button>
  );
}

it("shows messages of the stream, and later reads after the stream has ended", async () => {
  let notes = "old";
  const experiment = () => copyGolden<Experiment>(golden.answer.experiment, { notes });
  vi.stubGlobal(
    "fetch",
    vi.fn((request: Request) => {
      if (request.url.endsWith("/watch")) {
        const news = { result: { experiment: experiment() } };
        return Promise.resolve(new Response(`data: ${JSON.stringify(news)}\n\n`));
      }
      return Promise.resolve(Response.json({ experiment: experiment() }));
    }),
  );
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Shown />
    </QueryClientProvider>,
  );
  await screen.findByText("STATE_COMPLETED old");
  notes = "new";
  await userEvent.click(screen.getByRole("button"));
  expect(await screen.findByText("STATE_COMPLETED new")).toBeInTheDocument();
});
