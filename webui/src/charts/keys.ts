import type { Plot } from "./plot";

/** The action of each key. */
const KEYS: Record<string, (plot: Plot) => void> = {
  ArrowLeft: (plot) => plot.step(-1),
  ArrowRight: (plot) => plot.step(1),
  ArrowUp: (plot) => plot.step(0, 1),
  ArrowDown: (plot) => plot.step(0, -1),
  "Shift+ArrowLeft": (plot) => plot.panBy(-0.2),
  "Shift+ArrowRight": (plot) => plot.panBy(0.2),
  "+": (plot) => plot.zoomBy(0.5),
  "=": (plot) => plot.zoomBy(0.5),
  "-": (plot) => plot.zoomBy(2),
  "0": (plot) => plot.reset(),
  Escape: (plot) => plot.leave(),
};

/** The keys' description for screen readers. */
export const KEYS_HELP =
  "Left and right arrows move to the next point, up and down arrows to other curves; plus and minus zoom, 0 resets the zoom, Shift with left or right pans.";

interface Pressed {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** Performs the action of a key. Returns whether the key has one. */
export function handleKey(plot: Plot, { key, shiftKey, ctrlKey, metaKey, altKey }: Pressed) {
  const isArrow = key.startsWith("Arrow");
  const act = KEYS[shiftKey && isArrow ? `Shift+${key}` : key];
  if (!act || ctrlKey || metaKey || altKey) return false;
  act(plot);
  return true;
}
