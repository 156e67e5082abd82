import { useEffect, useState } from "react";
import { duration, isoLocal, relative } from "@/format";

const tick = 10_000; // ms

/** Now, in milliseconds, again and again while the component is shown. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), tick);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** When something was, as the API says it: "4 min ago", and exactly on hover. */
export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={isoLocal(at)}>
      {relative(Date.parse(at), now)}
    </time>
  );
}

interface DurationProps {
  from: string | null | undefined;
  /** Without: until now. */
  to?: string | null | undefined;
}

/** How long something took, or has taken so far. */
export function Duration({ from, to }: DurationProps) {
  const now = useNow();
  if (!from) return <>–</>;
  return <>{duration(((to ? Date.parse(to) : now) - Date.parse(from)) / 1000)}</>;
}
