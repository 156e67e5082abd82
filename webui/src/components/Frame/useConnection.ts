import { useEffect, useState } from "react";
import { api, ApiError } from "@/api/client";

const FIRST = 1500; // ms before the first question: a stream usually reconnects sooner
const PAUSE = 5000; // ms between questions

export type Connection = "connected" | "offline" | "unreachable";

/**
 * Whether the master can be reached. `live`: the frame's stream is connected. The master is asked only while the
 * stream is not, or while the browser has no network: a local master needs none.
 */
export function useConnection(live: boolean): Connection {
  const [isOnline, setOnline] = useState(navigator.onLine);
  const [isReachable, setReachable] = useState(true);
  useEffect(() => {
    const look = () => setOnline(navigator.onLine);
    addEventListener("online", look);
    addEventListener("offline", look);
    return () => {
      removeEventListener("online", look);
      removeEventListener("offline", look);
    };
  }, []);
  const isSafe = live && isOnline;
  useEffect(() => {
    setReachable((before) => before || isSafe);
    if (isSafe) return;
    const aborter = new AbortController();
    const ask = async () => {
      const answer = await api.GET("/api/v1/master", { signal: aborter.signal }).then(
        () => true,
        (error: unknown) => !isUnreachable(error),
      );
      if (aborter.signal.aborted) return;
      setReachable(answer);
      timer = setTimeout(() => void ask(), PAUSE);
    };
    let timer = setTimeout(() => void ask(), isOnline ? FIRST : 0);
    return () => {
      aborter.abort();
      clearTimeout(timer);
    };
  }, [isSafe, isOnline]);
  if (isReachable) return "connected";
  return isOnline ? "unreachable" : "offline";
}

/** No answer, or the one of a proxy whose master is away. */
const isUnreachable = (error: unknown) =>
  !(error instanceof ApiError) || error.status === 0 || [502, 503, 504].includes(error.status);
