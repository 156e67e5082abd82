import { useEffect, useRef, type RefObject } from "react";

/** Scrolls the current link of a horizontally scrolling row into view. */
export function useScrollIntoView<E extends HTMLElement>(): RefObject<E | null> {
  const row = useRef<E>(null);
  const shown = useRef<HTMLElement>(null);
  // After every render: links appear once the permissions are loaded.
  useEffect(() => {
    const link = row.current?.querySelector<HTMLElement>('[aria-current="page"]') ?? null;
    if (!row.current || !link || link === shown.current) return;
    shown.current = link;
    // scrollIntoView would also scroll the containers of the row.
    const { offsetLeft, clientWidth } = row.current;
    const from = link.offsetLeft - offsetLeft;
    const to = from + link.offsetWidth;
    if (from < row.current.scrollLeft) row.current.scrollLeft = from;
    else if (to > row.current.scrollLeft + clientWidth) row.current.scrollLeft = to - clientWidth;
  });
  return row;
}
