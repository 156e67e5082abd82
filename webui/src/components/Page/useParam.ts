import { useCallback } from "react";
import { useSearchParams } from "react-router";

/**
 * A part of what the page shows, kept in its address; "" where that does not say it.
 *
 * @param isStep Back undoes it.
 */
export function useParam(
  name: string,
  isStep = false,
): [value: string, set: (value: string) => void] {
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
        { replace: !isStep || !value },
      ),
    [setParams, name, isStep],
  );
  return [params.get(name) ?? "", set];
}

/** Which dialog is open. */
export const useDialog = () => useParam("do", true);
