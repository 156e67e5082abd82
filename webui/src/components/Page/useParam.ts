import { useCallback } from "react";
import { useSearchParams } from "react-router";

/**
 * A query parameter of the page's address; "" if it is missing.
 *
 * @param isStep creates a history entry, so that Back undoes the change.
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

/** The name of the open dialog. */
export const useDialog = () => useParam("do", true);
