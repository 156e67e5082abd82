import { useEffect, useRef, useState } from "react";
import { viridis } from "./colours";
import styles from "./ParallelCoordinates.module.css";
import { resolveColour, useIsDark } from "./theme";
import { formatTicks, numberScale } from "./ticks";

/** An axis and its values, one per line. Strings are categories; undefined has no position. */
export interface Axis {
  name: string;
  values: readonly (number | string | undefined)[];
  isLog?: boolean;
}

interface Props {
  axes: readonly Axis[];
  /** The metric value that colours each line. */
  colourBy: readonly number[];
  /** Whether the smallest value is the best and is drawn strongest. */
  smallerIsBetter: boolean;
}

interface Placed {
  name: string;
  share: (value: number | string | undefined) => number;
  ticks: { at: number; text: string }[];
}

const HEIGHT = 360;
const EDGE = { top: 28, bottom: 16, side: 60 };
// The minimum distance of axes that keeps their labels readable; beyond it the chart scrolls.
const MIN_SPACING = 110;
const LETTER = 6.5;
const GAP = 10;
const SCROLL_BAR = 16;

/** Shortens a text in the middle to fit the room beside its axis. */
export function truncateMiddle(text: string, room: number): string {
  const max = Math.max(3, Math.floor(room / LETTER));
  return text.length > max
    ? `${text.slice(0, Math.ceil(max / 2) - 1)}…${text.slice(-Math.floor(max / 2))}`
    : text;
}

function placeAxis({ name, values, isLog }: Axis): Placed {
  const numbers = values.filter((value) => typeof value === "number");
  if (numbers.length > 0 && values.every((v) => v === undefined || typeof v === "number")) {
    const scale = numberScale(Math.min(...numbers), Math.max(...numbers), isLog ?? false);
    const share = (value: number | string | undefined) =>
      typeof value === "number" ? scale.share(value) : NaN;
    const labels = formatTicks(scale.ticks);
    const ticks = scale.ticks.map((t, i) => ({ at: scale.share(t), text: labels[i] ?? "" }));
    return { name, share, ticks };
  }
  const names = [...new Set(values.filter((value) => value !== undefined).map(String))].sort();
  const at = (value: string) =>
    names.length > 1 ? names.indexOf(value) / (names.length - 1) : 0.5;
  const share = (value: number | string | undefined) =>
    value === undefined ? NaN : at(String(value));
  return { name, share, ticks: names.map((text) => ({ at: at(text), text })) };
}

/**
 * One line per trial across the hyperparameter axes, coloured by the metric. Dragging on an axis keeps only
 * the lines that cross it there; a click resets the axis.
 */
export function ParallelCoordinates({ axes, colourBy, smallerIsBetter }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [room, setRoom] = useState(800);
  const width = Math.max(room, 2 * EDGE.side + (axes.length - 1) * MIN_SPACING);
  const [brushes, setBrushes] = useState<Record<string, [number, number]>>({});
  const isDark = useIsDark();
  const placedAxes = axes.map(placeAxis);
  const apart = (width - 2 * EDGE.side) / Math.max(1, placedAxes.length - 1);
  const toX = (i: number) => EDGE.side + i * apart;
  const toY = (share: number) => HEIGHT - EDGE.bottom - share * (HEIGHT - EDGE.top - EDGE.bottom);

  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setRoom(Math.max(320, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !canvas.current) return;
    canvas.current.width = width * devicePixelRatio;
    canvas.current.height = HEIGHT * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const finite = colourBy.filter(Number.isFinite);
    const lowest = Math.min(...finite);
    const highest = Math.max(...finite);
    const computeQuality = (value: number) => {
      const share = highest > lowest ? (value - lowest) / (highest - lowest) : 1;
      return smallerIsBetter ? 1 - share : share;
    };
    // Draw the best last, on top of the others.
    const order = colourBy
      .map((_, i) => i)
      .sort((a, b) => computeQuality(colourBy[a] ?? NaN) - computeQuality(colourBy[b] ?? NaN));
    for (const line of order) {
      const shares = placedAxes.map((axis, i) => axis.share(axes[i]?.values[line]));
      const isKept = placedAxes.every(({ name }, i) => {
        const brush = brushes[name];
        const share = shares[i] ?? NaN;
        return !brush || (share >= brush[0] && share <= brush[1]);
      });
      context.globalAlpha = isKept ? 0.8 : 0.06;
      context.lineWidth = 1.5;
      const value = colourBy[line] ?? NaN;
      context.strokeStyle = Number.isFinite(value)
        ? viridis(computeQuality(value), isDark)
        : resolveColour("--faint");
      context.beginPath();
      shares.forEach((share, i) => {
        if (Number.isFinite(share)) context.lineTo(toX(i), toY(share));
      });
      context.stroke();
    }
  });

  const brush = (name: string) => (down: React.PointerEvent<SVGRectElement>) => {
    const box = down.currentTarget.getBoundingClientRect();
    const shareAt = (clientY: number) =>
      1 - Math.min(1, Math.max(0, (clientY - box.top) / box.height));
    const first = shareAt(down.clientY);
    const end = (up: PointerEvent) => {
      removeEventListener("pointerup", end);
      const last = shareAt(up.clientY);
      const range: [number, number] = [Math.min(first, last), Math.max(first, last)];
      setBrushes((now) => {
        const rest = Object.fromEntries(Object.entries(now).filter(([key]) => key !== name));
        return range[1] - range[0] < 0.02 ? rest : { ...rest, [name]: range };
      });
    };
    addEventListener("pointerup", end);
  };

  return (
    <div
      ref={holder}
      className={styles.scroll}
      style={{ height: HEIGHT + (width > room ? SCROLL_BAR : 0) }}
      tabIndex={0}
      role="group"
      aria-label={`Parallel coordinates of ${axes.length} axes`}
    >
      <canvas ref={canvas} style={{ position: "absolute", width, height: HEIGHT }} aria-hidden />
      <svg
        width={width}
        height={HEIGHT}
        style={{ position: "absolute" }}
        role="img"
        aria-label="Parallel coordinates"
        fontSize={11}
      >
        {placedAxes.map(({ name, ticks }, i) => {
          const kept = brushes[name];
          return (
            <g key={name} transform={`translate(${toX(i)} 0)`} fill="var(--secondary)">
              <line y1={EDGE.top} y2={HEIGHT - EDGE.bottom} stroke="var(--strong-line)" />
              <text y={14} textAnchor="middle" fontWeight={600} fill="var(--text)">
                {truncateMiddle(name, apart - GAP)}
                <title>{name}</title>
              </text>
              {ticks.map(({ at, text }) => (
                <text
                  key={text}
                  x={6}
                  y={toY(at) + 4}
                  paintOrder="stroke"
                  stroke="var(--page)"
                  strokeWidth={3}
                >
                  {truncateMiddle(text, i + 1 < placedAxes.length ? apart - GAP : EDGE.side - GAP)}
                  <title>{text}</title>
                </text>
              ))}
              {kept && (
                <rect
                  x={-6}
                  width={12}
                  y={toY(kept[1])}
                  height={toY(kept[0]) - toY(kept[1])}
                  fill="var(--accent)"
                  opacity={0.3}
                />
              )}
              <rect
                x={-12}
                y={EDGE.top}
                width={24}
                height={HEIGHT - EDGE.top - EDGE.bottom}
                fill="transparent"
                cursor="ns-resize"
                onPointerDown={brush(name)}
              />
            </g>
          );
        })}
      </svg>
    </div>
  );
}
