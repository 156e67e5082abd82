import { useEffect, useState } from "react";
import { formatDuration, formatLocalTime, formatRelativeTime } from "@/format";

const tick = 10_000; // ms

/** The current time in milliseconds, updated regularly. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), tick);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** A time of the API: "4 min ago", with the exact time as tooltip. */
export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={formatLocalTime(at)}>
      {formatRelativeTime(Date.parse(at), now)}
    </time>
  );
}

interface DurationProps {
  from: string | null | undefined;
  /** Default: now. */
  to?: string | null | undefined;
}

/** The duration between two times. */
export function Duration({ from, to }: DurationProps) {
  const now = useNow();
  if (!from) return <>–</>;
  return <>{formatDuration(((to ? Date.parse(to) : now) - Date.parse(from)) / 1000)}</>;
}
