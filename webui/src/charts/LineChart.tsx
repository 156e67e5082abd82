import "uplot/dist/uPlot.min.css";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useLatest } from "@/useLatest";
import { ChartHead } from "./ChartHead";
import { save, seriesToCsv } from "./export";
import { formatNumber, formatStep } from "./format";
import { KEYS_HELP, handleKey } from "./keys";
import { Legend } from "./Legend";
import styles from "./LineChart.module.css";
import type { Near } from "./nearest";
import { toCurves } from "./paint";
import { createPlot, type Plot } from "./plot";
import { describeInvalid } from "./invalid";
import type { Picture } from "./picture";
import { toPng } from "./png";
import type { Series } from "./series";
import { toSvg } from "./svg";
import { useIsDark } from "./theme";
import { Tooltip, type Side } from "./Tooltip";
import type { PlotOptions } from "./uplotOptions";
import type { ChartView } from "./view";

interface Props {
  /** The metric's name, with its unit if it has one. */
  title: string;
  series: readonly Series[];
  /** The name of the x axis: "batches". */
  xLabel: string;
  formatX?: (x: number) => string;
  /** The view of the chart and the callback that changes it. */
  view: ChartView;
  onView: (change: Partial<ChartView>) => void;
  /** Charts of a page with one key share the crosshair. */
  syncKey?: string;
  /** Where the curves are from ("Experiment 7 mnist"), for the exports. */
  source?: string;
  /** Drawn as a dotted horizontal line. */
  best?: number;
  /** Height of the plot in pixels, without head and legend. */
  height?: number;
  /** False if the series are named elsewhere on the page. */
  hasLegend?: boolean;
  /** Shown if none of the drawn values is NaN or infinite: says that others are. */
  note?: string;
  /** Shown if there is no curve. */
  none?: string;
  /** Reads all points as CSV; by default the drawn points are exported. */
  readCsv?: (signal: AbortSignal) => Promise<Blob>;
}

/**
 * Curves over a common x axis. Drag zooms, double-click resets, Shift-drag pans; keys do the same (keys.ts).
 */
export function LineChart(props: Props) {
  const { title, series, xLabel, formatX, syncKey, best, source, height = 220 } = props;
  const { none = "No values yet.", view, onView } = props;
  const { isLog, hidden, zoom } = view;
  // The slider's value while it moves; afterwards the view has it.
  const [draft, setDraft] = useState<number>();
  useEffect(() => setDraft((now) => (now === view.weight ? undefined : now)), [view.weight]);
  const weight = draft ?? view.weight;
  const [near, setNear] = useState<{ near: Near[]; side: Side; isByKey: boolean }>();
  const curves = useMemo(() => toCurves(series, hidden, weight), [series, hidden, weight]);
  const { container, plot } = usePlot({ isLog, xLabel, formatX, height }, syncKey, {
    onNear: (found, at, isByKey = false) => {
      const middle = (container.current?.clientWidth ?? 0) / 2;
      const side = at && at.left < middle ? "right" : "left";
      setNear(at && found.length > 0 ? { near: found, side, isByKey } : undefined);
    },
    onZoom: (next) => onView({ zoom: next }),
    // A new plot starts without zoom, curves and best value.
    onCreate: (created) => {
      created.setZoom(zoom);
      created.setBest(best);
      created.setCurves(curves);
    },
  });
  useEffect(() => plot.current?.setCurves(curves), [plot, curves]);
  useEffect(() => plot.current?.setBest(best), [plot, best]);
  useEffect(() => plot.current?.setZoom(zoom), [plot, zoom]);

  const described = useMemo(() => describeInvalid(series, formatX), [series, formatX]);
  const invalid = described ?? props.note;

  const smoothBy = (next: number, isDone: boolean) => {
    const isNew = next !== view.weight;
    setDraft(isDone && !isNew ? undefined : next);
    if (isDone && isNew) onView({ weight: next });
  };
  const press = (event: KeyboardEvent) => {
    if (plot.current && handleKey(plot.current, event)) event.preventDefault();
  };
  const picture: Picture = {
    title,
    curves,
    xLabel,
    isLog,
    ...(source !== undefined && { source }),
    ...(formatX && { formatX }),
    ...(zoom && { zoom }),
    ...(best !== undefined && { best }),
  };
  const name = source ? `${source} ${title}` : title;
  const saveAs = (ending: string, content: Blob) => save(`${name}.${ending}`, content);
  const createCsv = () => new Blob([seriesToCsv(series, xLabel, title)], { type: "text/csv" });
  return (
    <figure className={styles.chart}>
      <ChartHead
        title={title}
        view={view}
        weight={weight}
        onView={onView}
        onWeight={smoothBy}
        onPng={() => void toPng(picture).then((image) => saveAs("png", image))}
        onSvg={() => saveAs("svg", new Blob([toSvg(picture)], { type: "image/svg+xml" }))}
        onCsv={async (signal) => {
          const content = props.readCsv ? await props.readCsv(signal) : createCsv();
          if (!signal.aborted) saveAs("csv", content);
        }}
      />
      <div className={styles.body}>
        <div
          ref={container}
          className={styles.plot}
          style={{ minHeight: height }}
          tabIndex={0}
          role="application"
          aria-label={`Chart of ${title} by ${xLabel}. ${KEYS_HELP}`}
          onKeyDown={press}
          onBlur={() => near?.isByKey && plot.current?.leave()}
        >
          {near && <Tooltip near={near.near} side={near.side} xLabel={xLabel} formatX={formatX} />}
        </div>
        {props.hasLegend !== false && series.length > 1 && (
          <Legend
            series={series}
            hidden={hidden}
            focus={near?.near[0]?.curve.series.id}
            onHide={(next) => onView({ hidden: next })}
            height={height}
          />
        )}
      </div>
      <p className="visually-hidden" role="status">
        {near?.isByKey && announce(near.near, xLabel, formatX)}
      </p>
      {series.length === 0 && <p className={styles.hint}>{none}</p>}
      {invalid && (
        <p className={styles.hint}>
          <svg
            viewBox="0 0 10 10"
            width="0.8em"
            height="0.8em"
            stroke="currentColor"
            strokeWidth="1.5"
            aria-hidden
          >
            <path d="m1 1 8 8M9 1 1 9" />
          </svg>{" "}
          {invalid}
        </p>
      )}
    </figure>
  );
}

function announce(
  near: readonly Near[],
  xLabel: string,
  formatX: (x: number) => string = formatStep,
): string {
  const values = near.map(({ curve, y }) => `${curve.series.label} ${formatNumber(y)}`);
  return `${xLabel} ${formatX(near[0]?.x ?? NaN)}: ${values.join(", ")}`;
}

type Handlers = Pick<PlotOptions, "onNear" | "onZoom"> & { onCreate: (plot: Plot) => void };

/** A plot that fills an element; created again when its axes or colours change. */
function usePlot(
  { isLog, xLabel, formatX, height }: Omit<PlotOptions, "width" | "syncKey" | keyof Handlers>,
  syncKey: string | undefined,
  handlers: Handlers,
) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const latest = useLatest(handlers);
  const isDark = useIsDark();
  useLayoutEffect(() => {
    const element = container.current;
    if (!element) return;
    const created = createPlot(element, {
      width: Math.max(200, element.clientWidth),
      height,
      isLog,
      xLabel,
      formatX,
      ...(syncKey !== undefined && { syncKey }),
      onNear: (...near) => latest.current.onNear(...near),
      onZoom: (zoom) => latest.current.onZoom(zoom),
    });
    plot.current = created;
    latest.current.onCreate(created);
    const observer = new ResizeObserver(() => created.setSize(element.clientWidth, height));
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.destroy();
      plot.current = undefined;
    };
  }, [isLog, isDark, height, xLabel, formatX, syncKey, latest]);
  return { container, plot };
}
