import { useCallback } from "react";
import { useSearchParams } from "react-router";

/** A part of what the page shows, kept in its address; "" where that does not say it. */
export function useParam(name: string): [value: string, set: (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string) =>
      setParams(
        (now) => {
          const next = new URLSearchParams(now);
          if (value) next.set(name, value);
          else next.delete(name);
          return next;
        },
        { replace: true },
      ),
    [setParams, name],
  );
  return [params.get(name) ?? "", set];
}
