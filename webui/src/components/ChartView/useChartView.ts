import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";
import type { ChartView } from "@/charts/view";
import { readChart, writeChart } from "./chartParams";

/** The view of a chart, kept in the address under the name `chart`; the browser's Back undoes a change. */
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
