import { formatNumber } from "./format";
import { formatTicks, numberScale } from "./ticks";

interface Props {
  title: string;
  x: readonly (number | string | undefined)[];
  y: readonly number[];
  labels: readonly string[];
  isLog?: boolean;
}

const SIZE = { width: 280, height: 200, left: 48, bottom: 32, top: 24, right: 10 };

/** One point per pair of values. Strings on the x axis are categories. */
export function ScatterChart({ title, x, y, labels, isLog = false }: Props) {
  const isText = x.some((value) => typeof value === "string");
  const names = [...new Set(x.filter((value) => value !== undefined).map(String))].sort();
  const xs = x.map((value) =>
    value === undefined ? NaN : isText ? names.indexOf(String(value)) : Number(value),
  );
  const points = xs.map((at, i) => ({ at, value: y[i] ?? NaN, label: labels[i] ?? "" }));
  const shown = points.filter((p) => Number.isFinite(p.at) && Number.isFinite(p.value));
  if (shown.length === 0) return null;
  const ends = (values: number[]) => [Math.min(...values), Math.max(...values)] as const;
  const across = numberScale(...ends(shown.map((p) => p.at)), isLog && !isText);
  const up = numberScale(...ends(shown.map((p) => p.value)), false);
  const wide = SIZE.width - SIZE.left - SIZE.right;
  const high = SIZE.height - SIZE.top - SIZE.bottom;
  const px = (value: number) => SIZE.left + across.share(value) * wide;
  const py = (value: number) => SIZE.top + (1 - up.share(value)) * high;
  const xTicks = isText ? names.map((_, i) => i) : across.ticks;
  const xLabels = isText ? names : formatTicks(across.ticks);
  const yLabels = formatTicks(up.ticks);
  return (
    <svg
      width={SIZE.width}
      height={SIZE.height}
      role="img"
      aria-label={title}
      fontSize={11}
      fill="var(--secondary)"
    >
      <text x={SIZE.left} y={14} fontWeight={600} fill="var(--text)">
        {title}
      </text>
      {up.ticks.map((tick, i) => (
        <g key={tick}>
          <line
            x1={SIZE.left}
            x2={SIZE.width - SIZE.right}
            y1={py(tick)}
            y2={py(tick)}
            stroke="var(--line)"
          />
          <text x={SIZE.left - 6} y={py(tick) + 4} textAnchor="end">
            {yLabels[i]}
          </text>
        </g>
      ))}
      {xTicks.map((tick, i) => (
        <text key={tick} x={px(tick)} y={SIZE.height - 12} textAnchor="middle">
          {xLabels[i]}
        </text>
      ))}
      {shown.map((p, i) => (
        <circle key={i} cx={px(p.at)} cy={py(p.value)} r={3} fill="var(--accent)" fillOpacity={0.6}>
          <title>{`${p.label}: ${formatNumber(p.value)}`}</title>
        </circle>
      ))}
    </svg>
  );
}
