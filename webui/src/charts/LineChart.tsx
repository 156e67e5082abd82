import "uplot/dist/uPlot.min.css";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { save, toCsv } from "./export";
import { formatNumber } from "./format";
import { Legend } from "./Legend";
import styles from "./LineChart.module.css";
import type { Near } from "./nearest";
import { curvesOf } from "./paint";
import { createPlot, type Plot } from "./plot";
import type { Series } from "./series";
import { toSvg } from "./svg";
import { useIsDark } from "./theme";
import { Tooltip } from "./Tooltip";

interface Props {
  /** What is drawn: the metric's name, and its unit if it has one. */
  title: string;
  series: readonly Series[];
  /** What x is: "batches". */
  xLabel: string;
  formatX?: (x: number) => string;
  /** Charts of a page with one key share the crosshair and what is zoomed into. */
  syncKey?: string;
  /** A value that is worth a dotted line. */
  best?: number;
  /** Pixels of the plot without head and legend. */
  height?: number;
  /** Without: the series are named elsewhere on the page. */
  hasLegend?: boolean;
  /** Said where there is no curve. */
  none?: string;
}

/** Curves over a common x: drag zooms, a double click resets, shift and drag moves. */
export function LineChart(props: Props) {
  const { title, series, xLabel, formatX = formatNumber, syncKey, best, height = 220 } = props;
  const { none = "No values yet." } = props;
  const [isLog, setLog] = useState(false);
  const [weight, setWeight] = useState(0);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [near, setNear] = useState<{ near: Near[]; at?: { left: number; top: number } }>();
  const [isZoomed, setZoomed] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const isDark = useIsDark();
  const curves = useMemo(() => curvesOf(series, hidden, weight), [series, hidden, weight]);
  const current = useRef(curves);
  current.current = curves;
  const currentBest = useRef(best);
  currentBest.current = best;

  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const made = createPlot(element, {
      ...{ width: Math.max(200, element.clientWidth), height, isLog, xLabel, formatX },
      ...(syncKey !== undefined && { syncKey }),
      onNear: (found, at) => setNear(at && found.length > 0 ? { near: found, at } : undefined),
      onZoom: setZoomed,
    });
    plot.current = made;
    made.setBest(currentBest.current);
    made.setCurves(current.current);
    const observer = new ResizeObserver(() => made.setSize(element.clientWidth, height));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [isLog, isDark, height, xLabel, formatX, syncKey]);

  useEffect(() => plot.current?.setCurves(curves), [curves]);
  // A new plot would forget what is zoomed into.
  useEffect(() => plot.current?.setBest(best), [best]);

  const savePng = () =>
    plot.current?.canvas().toBlob((blob) => blob && save(`${title}.png`, blob), "image/png");
  const saveText = (ending: string, type: string, text: string) =>
    save(`${title}.${ending}`, new Blob([text], { type }));

  return (
    <figure className={styles.chart}>
      <figcaption className={styles.head}>
        <span className={styles.title}>{title}</span>
        {isZoomed && <span className={styles.hint}>zoomed: double click resets</span>}
        <label className={styles.option}>
          <input type="checkbox" checked={isLog} onChange={(e) => setLog(e.target.checked)} /> log
        </label>
        <label className={styles.option}>
          smooth{" "}
          <input
            type="range"
            min={0}
            max={0.99}
            step={0.01}
            value={weight}
            onChange={(e) => setWeight(Number(e.target.value))}
          />
        </label>
        <button type="button" className="plain" onClick={savePng}>
          PNG
        </button>
        <button
          type="button"
          className="plain"
          onClick={() => saveText("svg", "image/svg+xml", toSvg({ title, curves, xLabel, isLog }))}
        >
          SVG
        </button>
        <button
          type="button"
          className="plain"
          onClick={() => saveText("csv", "text/csv", toCsv(series, xLabel, title))}
        >
          CSV
        </button>
      </figcaption>
      <div className={styles.body}>
        <div ref={place} className={styles.plot} style={{ minHeight: height }}>
          {near?.at && <Tooltip near={near.near} at={near.at} xLabel={xLabel} formatX={formatX} />}
        </div>
        {props.hasLegend !== false && series.length > 1 && (
          <Legend
            series={series}
            hidden={hidden}
            focus={near?.near[0]?.curve.series.id}
            onHide={setHidden}
            height={height}
          />
        )}
      </div>
      {series.length === 0 && <p className={styles.hint}>{none}</p>}
    </figure>
  );
}
