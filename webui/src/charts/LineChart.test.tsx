import { render } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { LineChart } from "./LineChart";
import { createPlot } from "./plot";

const plot = vi.hoisted(() => ({
  setCurves: vi.fn(),
  setBest: vi.fn(),
  setSize: vi.fn(),
  destroy: vi.fn(),
}));
vi.mock("./plot", () => ({ createPlot: vi.fn(() => plot) }));

it("keeps its plot, and with it the zoom, when the best value changes", () => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe = vi.fn();
      disconnect = vi.fn();
    },
  );
  const chart = (best: number) => (
    <LineChart title="loss" series={[]} xLabel="batches" best={best} />
  );
  const { rerender } = render(chart(2));
  rerender(chart(1));
  expect(createPlot).toHaveBeenCalledOnce();
  expect(plot.setBest).toHaveBeenLastCalledWith(1);
});
