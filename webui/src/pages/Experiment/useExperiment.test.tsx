import { QueryClient, QueryClientProvider, useQueryClient } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
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

it("shows the stream's news, and what is read after the stream has ended", async () => {
  let notes = "old";
  vi.stubGlobal(
    "fetch",
    vi.fn((request: Request) => {
      if (request.url.endsWith("/watch")) {
        const news = { result: { experiment: { id: 1, state: "STATE_COMPLETED", notes } } };
        return Promise.resolve(new Response(`data: ${JSON.stringify(news)}\n\n`));
      }
      return Promise.resolve(
        Response.json({ experiment: { id: 1, state: "STATE_COMPLETED", notes } }),
      );
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
