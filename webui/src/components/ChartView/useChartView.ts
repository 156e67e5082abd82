import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";
import type { ChartView } from "@/charts/view";
import { readChart, writeChart } from "./chartParams";

/** How a chart of the page is shown, kept in the address: Back undoes what changed it. `chart` is its name in there. */
export function useChartView(chart: string) {
  const [params, setParams] = useSearchParams();
  const text = params.toString();
  const view = useMemo(() => readChart(new URLSearchParams(text), chart), [text, chart]);
  const onView = useCallback(
    (change: Partial<ChartView>) => {
      const next = writeChart(new URLSearchParams(text), chart, change);
      setParams(next, { preventScrollReset: true });
    },
    [text, chart, setParams],
  );
  return { view, onView };
}
