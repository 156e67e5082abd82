/** The eight of Okabe and Ito; the black one is the text's colour, so that it shows on dark pages. */
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

// Of the eight, the blue first: a chart of one curve is calm.
const ORDER = [5, 6, 3, 7, 1, 2, 4, 0] as const;

export interface Stroke {
  /** A CSS colour; may be a custom property of the page. */
  colour: string;
  /** Lengths of dash and gap in pixels; empty: a whole line. */
  dash: readonly number[];
}

/** How the series of a rank (from 0) is drawn: eight colours, then the same dashed, then anew. */
export function getStroke(rank: number): Stroke {
  const place = ORDER[rank % ORDER.length] as (typeof ORDER)[number];
  const isDashed = Math.floor(rank / ORDER.length) % 2 === 1;
  return { colour: SERIES[place], dash: isDashed ? [5, 3] : [] };
}

// Viridis at nine even places; in between linear, which the eye cannot tell from the whole table.
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
 * The colour of a share (0 to 1, what lies outside counts as the end) on the viridis scale.
 *
 * @param isDark mirrors it, so that the greatest value stands out on a dark page as it does on a light one.
 */
export function viridis(share: number, isDark = false): string {
  const [red, green, blue] = viridisRgb(share, isDark);
  return `rgb(${red} ${green} ${blue})`;
}

/** Whether black (true) or white text is read better on viridis(share). */
export function wantsDarkText(share: number, isDark = false): boolean {
  const [red, green, blue] = viridisRgb(share, isDark).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}

function viridisRgb(share: number, isDark: boolean): [number, number, number] {
  const within = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
  // Light pages: the greatest is the darkest.
  const at = (isDark ? within : 1 - within) * (VIRIDIS.length - 1);
  const low = Math.min(VIRIDIS.length - 2, Math.floor(at));
  const from = VIRIDIS[low] ?? [0, 0, 0];
  const to = VIRIDIS[low + 1] ?? from;
  const part = at - low;
  const mix = (i: 0 | 1 | 2) => Math.round(from[i] + (to[i] - from[i]) * part);
  return [mix(0), mix(1), mix(2)];
}
