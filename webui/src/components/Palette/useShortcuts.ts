import { useEffect } from "react";
import { useNavigate } from "react-router";
import { adminNavItems, navItems } from "../Frame/navItems";

const SEQUENCE_TIMEOUT = 1000; // ms between `g` and the key of a page

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]");

/** Calls `act` when the key is pressed without modifiers and outside text fields. */
export function useKey(key: string, act: () => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { ctrlKey, metaKey, altKey, target } = event;
      if (event.key !== key || ctrlKey || metaKey || altKey || isTyping(target)) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [key, act]);
}

/** Ctrl K, Cmd K and `/` open the palette; `g` and a key open a page. */
export function useShortcuts(open: () => void) {
  const navigate = useNavigate();
  useEffect(() => {
    let startedAt = -Infinity;
    const press = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, timeStamp } = event;
      if (key.toLowerCase() === "k" && (ctrlKey || metaKey)) {
        event.preventDefault();
        open();
        return;
      }
      if (ctrlKey || metaKey || altKey || isTyping(event.target)) return;
      const all = [...navItems, ...adminNavItems];
      const item = timeStamp - startedAt < SEQUENCE_TIMEOUT && all.find((each) => each.key === key);
      startedAt = key === "g" ? timeStamp : -Infinity;
      if (item) void navigate(item.to);
      if (key !== "/") return;
      event.preventDefault();
      open();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [navigate, open]);
}
