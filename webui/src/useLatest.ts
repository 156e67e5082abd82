import { useLayoutEffect, useRef, type RefObject } from "react";

/**
 * A ref to the value of the latest render, updated before effects run. Only effects and callbacks may read it,
 * not rendering.
 */
export function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useLayoutEffect(() => {
    latest.current = value;
  });
  return latest;
}
