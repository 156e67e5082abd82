type Load = () => Promise<unknown>;

const waiting: Load[] = [];
let isRunning = false;

/** Calls back when the browser is idle; Safari cannot tell. */
const whenIdle = (callback: () => void) =>
  typeof requestIdleCallback === "function"
    ? requestIdleCallback(callback)
    : setTimeout(callback, 1000);

/** Loads code when the browser is idle, so that it is there without a network. One at a time, after the first page. */
export function preload(load: Load) {
  waiting.push(load);
  if (isRunning) return;
  isRunning = true;
  if (document.readyState === "complete") whenIdle(next);
  else addEventListener("load", () => whenIdle(next), { once: true });
}

function next() {
  const load = waiting.shift();
  isRunning = load !== undefined;
  // It is loaded again when it is shown.
  void load?.()
    .catch(() => undefined)
    .then(() => whenIdle(next));
}
