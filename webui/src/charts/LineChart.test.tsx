import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { LineChart } from "./LineChart";
import { createPlot } from "./plot";
import type { Series } from "./series";
import type { PlotOptions } from "./uplotOptions";
import { PLAIN_VIEW, type ChartView } from "./view";

const plot = vi.hoisted(() => ({
  setCurves: vi.fn(),
  setBest: vi.fn(),
  setZoom: vi.fn(),
  setSize: vi.fn(),
  step: vi.fn(),
  zoomBy: vi.fn(),
  panBy: vi.fn(),
  reset: vi.fn(),
  leave: vi.fn(),
  destroy: vi.fn(),
}));
vi.mock("./plot", () => ({ createPlot: vi.fn(() => plot) }));

beforeEach(() => {
  vi.clearAllMocks();
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe = vi.fn();
      disconnect = vi.fn();
    },
  );
});

const loss: Series = { id: "7", label: "trial 7", rank: 0, x: [1, 2], y: [0.5, 0.25] };
const onView = vi.fn();

const chart = (more: { view?: ChartView; best?: number; readCsv?: () => Promise<Blob> } = {}) => (
  <LineChart
    title="loss"
    series={[loss]}
    xLabel="batches"
    view={PLAIN_VIEW}
    onView={onView}
    {...more}
  />
);
const getQueryOptions = () => vi.mocked(createPlot).mock.lastCall?.[1] as PlotOptions;

it("keeps its plot and zoom when the best value changes", () => {
  const { rerender } = render(chart({ best: 2 }));
  rerender(chart({ best: 1 }));
  expect(createPlot).toHaveBeenCalledOnce();
  expect(plot.setBest).toHaveBeenLastCalledWith(1);
});

it("shows its view and reports changes", async () => {
  const zoom = [3, 4] as const;
  const { rerender } = render(chart());
  rerender(chart({ view: { ...PLAIN_VIEW, zoom } }));
  expect(plot.setZoom).toHaveBeenLastCalledWith(zoom);
  await userEvent.click(screen.getByRole("button", { name: "Reset zoom" }));
  expect(onView).toHaveBeenLastCalledWith({ zoom: undefined });
  await userEvent.click(screen.getByLabelText("Log scale"));
  expect(onView).toHaveBeenLastCalledWith({ isLog: true });
  getQueryOptions().onZoom([1, 2]);
  expect(onView).toHaveBeenLastCalledWith({ zoom: [1, 2] });
});

it("smooths while the slider moves and reports the final weight", () => {
  render(chart());
  const slider = screen.getByLabelText("Smoothing");
  fireEvent.change(slider, { target: { value: "0.5" } });
  const curves = plot.setCurves.mock.lastCall?.[0] as { raw?: unknown }[];
  expect(curves[0]?.raw).toBe(loss.y);
  expect(onView).not.toHaveBeenCalled();
  fireEvent.pointerUp(slider);
  expect(onView).toHaveBeenCalledWith({ weight: 0.5 });
});

it("is navigable by keys and announces values", () => {
  render(chart());
  const plotElement = screen.getByRole("application", { name: /^Chart of loss by batches/ });
  const press = (key: string, more = {}) => fireEvent.keyDown(plotElement, { key, ...more });
  press("ArrowRight");
  expect(plot.step).toHaveBeenLastCalledWith(1);
  press("ArrowLeft", { shiftKey: true });
  expect(plot.panBy).toHaveBeenCalledOnce();
  press("+");
  press("-");
  expect(plot.zoomBy.mock.calls).toEqual([[0.5], [2]]);
  press("0");
  expect(plot.reset).toHaveBeenCalledOnce();
  // The browser's own zoom keys have no effect on the chart.
  press("0", { ctrlKey: true });
  expect(plot.reset).toHaveBeenCalledOnce();

  const near = [{ curve: { series: loss, y: loss.y }, x: 2, y: 0.25, distance: 0 }];
  const status = screen.getByRole("status");
  getQueryOptions().onNear(near, { left: 1, top: 1 });
  expect(status).toHaveTextContent("");
  fireEvent.focus(plotElement);
});

it("announces the key position in a live region", async () => {
  render(chart());
  const near = [{ curve: { series: loss, y: loss.y }, x: 2, y: 0.25, distance: 0 }];
  getQueryOptions().onNear(near, { left: 1, top: 1 }, true);
  await vi.waitFor(() =>
    expect(screen.getByRole("status")).toHaveTextContent("batches 2: trial 7 0.25"),
  );
});

it("shows a CSV error and allows a retry", async () => {
  const readCsv = vi.fn().mockRejectedValue(new Error("the master is unreachable"));
  render(chart({ readCsv }));
  await userEvent.click(screen.getByRole("button", { name: "Export loss as CSV" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("the master is unreachable");
  expect(screen.getByRole("button", { name: "Export loss as CSV" })).toBeEnabled();
});
