const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Formats seconds with the two largest units: "2 h 5 min", "40 s". */
export function formatDuration(seconds: number): string {
  const roundedSeconds = Math.max(0, Math.round(seconds));
  const first = units.findIndex(([, size]) => roundedSeconds >= size);
  if (first === -1) return "0 s";
  let rest = roundedSeconds;
  return units
    .slice(first, first + 2)
    .map(([unit, size]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count > 0 ? `${count} ${unit}` : "";
    })
    .filter(Boolean)
    .join(" ");
}

/** Formats a time in milliseconds relative to now, with the largest unit: "4 min ago", "in 3 h". */
export function formatRelativeTime(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1000);
  if (Math.abs(seconds) < 5) return "just now";
  const words = formatDuration(Math.abs(seconds)).split(" ").slice(0, 2).join(" ");
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}

/** Formats a share from 0 to 1, rounded down: "62 %". */
export function formatPercent(share: number): string {
  return `${Math.floor(Math.min(1, Math.max(0, share)) * 100)} %`;
}

const two = (count: number) => String(count).padStart(2, "0");

/**
 * Formats a time of the API in the local time zone with its offset: "2026-01-31T13:00:00.000+01:00"; "" if
 * invalid.
 */
export function formatLocalTime(at: string | undefined): string {
  const time = new Date(at ?? "");
  if (Number.isNaN(time.getTime())) return "";
  const offset = -time.getTimezoneOffset();
  const local = new Date(time.getTime() + offset * 60_000).toISOString().slice(0, -1);
  const size = Math.abs(offset);
  return `${local}${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
