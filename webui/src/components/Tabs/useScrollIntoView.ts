import { useEffect, useRef, type RefObject } from "react";

/** For a row of links that scrolls sideways: the one that leads to where one is, is brought in sight. */
export function useScrollIntoView<E extends HTMLElement>(): RefObject<E | null> {
  const row = useRef<E>(null);
  const shown = useRef<HTMLElement>(null);
  // After every render: links come when it is known what one may do.
  useEffect(() => {
    const link = row.current?.querySelector<HTMLElement>('[aria-current="page"]') ?? null;
    if (!row.current || !link || link === shown.current) return;
    shown.current = link;
    // Not scrollIntoView, which would move what is around the row, too.
    const { offsetLeft, clientWidth } = row.current;
    const from = link.offsetLeft - offsetLeft;
    const to = from + link.offsetWidth;
    if (from < row.current.scrollLeft) row.current.scrollLeft = from;
    else if (to > row.current.scrollLeft + clientWidth) row.current.scrollLeft = to - clientWidth;
  });
  return row;
}
