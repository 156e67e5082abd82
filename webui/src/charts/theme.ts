import { useSyncExternalStore } from "react";

/** Resolves a colour token (tokens.css) for a canvas: "--line" or "var(--line)". */
export function resolveColour(name: string): string {
  const token = /^(?:var\()?(--[\w-]+)\)?$/.exec(name)?.[1];
  if (!token) return name;
  return getComputedStyle(document.documentElement).getPropertyValue(token).trim() || "#888888";
}

/** Whether the page is dark; the component is rendered again when that changes. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "dark" || chosen === "light") return chosen === "dark";
  return typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches;
}

function subscribe(onChange: () => void): () => void {
  const observer = new MutationObserver(onChange);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const system =
    typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : undefined;
  system?.addEventListener("change", onChange);
  return () => {
    observer.disconnect();
    system?.removeEventListener("change", onChange);
  };
}
