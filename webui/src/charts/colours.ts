/**
 * The eight colours of Okabe and Ito; black is replaced by the text colour, which is visible on dark pages.
 */
const SERIES = [
  "var(--text)",
  "#e69f00",
  "#56b4e9",
  "#009e73",
  "#d4c400",
  "#0072b2",
  "#d55e00",
  "#cc79a7",
] as const;

// Blue first: most charts have one curve.
const ORDER = [5, 6, 3, 7, 1, 2, 4, 0] as const;

export interface Stroke {
  /** A CSS colour; may be a custom property of the page. */
  colour: string;
  /** Lengths of dash and gap in pixels; empty for a solid line. */
  dash: readonly number[];
}

/** The stroke of the series with a rank (from 0): eight colours, then the same dashed, then again. */
export function getStroke(rank: number): Stroke {
  const index = ORDER[rank % ORDER.length] as (typeof ORDER)[number];
  const isDashed = Math.floor(rank / ORDER.length) % 2 === 1;
  return { colour: SERIES[index], dash: isDashed ? [5, 3] : [] };
}

// Viridis at nine equidistant points with linear interpolation, which looks like the full table.
const VIRIDIS: readonly (readonly [number, number, number])[] = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

/**
 * The viridis colour of a value between 0 and 1 (clamped).
 *
 * @param isDark mirrors the scale, so that the largest value stands out on a dark page, too.
 */
export function viridis(share: number, isDark = false): string {
  const [red, green, blue] = viridisRgb(share, isDark);
  return `rgb(${red} ${green} ${blue})`;
}

/** Whether black (true) or white text is more readable on viridis(share). */
export function needsDarkText(share: number, isDark = false): boolean {
  const [red, green, blue] = viridisRgb(share, isDark).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}

function viridisRgb(share: number, isDark: boolean): [number, number, number] {
  const within = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
  // On light pages the largest value is the darkest.
  const at = (isDark ? within : 1 - within) * (VIRIDIS.length - 1);
  const low = Math.min(VIRIDIS.length - 2, Math.floor(at));
  const from = VIRIDIS[low] ?? [0, 0, 0];
  const to = VIRIDIS[low + 1] ?? from;
  const part = at - low;
  const mix = (i: 0 | 1 | 2) => Math.round(from[i] + (to[i] - from[i]) * part);
  return [mix(0), mix(1), mix(2)];
}
