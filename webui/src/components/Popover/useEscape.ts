import { useEffect } from "react";
import { useLatest } from "@/useLatest";

type Close = () => void;

// What Esc closes, the last opened one last.
const opened: Close[] = [];

function press(event: KeyboardEvent) {
  // In an input method, Esc drops what is being composed. A modal dialog closes itself.
  if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return;
  opened.at(-1)?.();
}

/** Calls `close` on Esc while `isOpen`, unless something that was opened later is still open. */
export function useEscape(isOpen: boolean, close: Close) {
  const latest = useLatest(close);
  useEffect(() => {
    if (!isOpen) return;
    const mine = () => latest.current();
    if (opened.length === 0) document.addEventListener("keydown", press);
    opened.push(mine);
    return () => {
      opened.splice(opened.indexOf(mine), 1);
      if (opened.length === 0) document.removeEventListener("keydown", press);
    };
  }, [isOpen, latest]);
}
