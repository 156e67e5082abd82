import { PLAIN_VIEW, type ChartView, type Range } from "@/charts/view";

/* The views of a page's charts in its address: `log` and `smooth` per chart name, `zoom` and hidden series (`hide`) for all charts. */

const encodeNames = (names: Iterable<string>) => [...names].map(encodeURIComponent).join(",");

// Users edit addresses: accept a stray %.
function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const parseList = (text: string | null) =>
  (text ?? "").split(",").filter(Boolean).map(decodeSafely);

function parseWeights(text: string | null): Map<string, number> {
  const pairs = (text ?? "").split(",").map((part) => part.split(":"));
  return new Map(
    pairs
      .map(([name = "", weight]) => [decodeSafely(name), Number(weight)] as const)
      .filter(([name, weight]) => name !== "" && weight > 0 && weight < 1),
  );
}

function parseZoom(text: string | null): Range | undefined {
  const [from, to] = (text ?? "").split("..").map(Number);
  const isRange = Number.isFinite(from) && Number.isFinite(to) && Number(from) < Number(to);
  return isRange ? [Number(from), Number(to)] : undefined;
}

/** The view of a chart by its name. */
export function readChart(params: URLSearchParams, chart: string): ChartView {
  const zoom = parseZoom(params.get("zoom"));
  return {
    isLog: parseList(params.get("log")).includes(chart),
    weight: parseWeights(params.get("smooth")).get(chart) ?? PLAIN_VIEW.weight,
    hidden: new Set(parseList(params.get("hide"))),
    ...(zoom && { zoom }),
  };
}

/** The address with a changed view of this chart; default values are left out. */
export function writeChart(
  params: URLSearchParams,
  chart: string,
  change: Partial<ChartView>,
): URLSearchParams {
  const next = new URLSearchParams(params);
  const put = (name: string, text: string) => (text ? next.set(name, text) : next.delete(name));
  if (change.isLog !== undefined) {
    const names = new Set(parseList(params.get("log")));
    if (change.isLog) names.add(chart);
    else names.delete(chart);
    put("log", encodeNames(names));
  }
  if (change.weight !== undefined) {
    const weights = parseWeights(params.get("smooth")).set(chart, change.weight);
    const smooth = [...weights].filter(([, weight]) => weight > 0);
    put("smooth", smooth.map(([name, weight]) => `${encodeURIComponent(name)}:${weight}`).join());
  }
  if (change.hidden) put("hide", encodeNames(change.hidden));
  if ("zoom" in change) put("zoom", change.zoom ? change.zoom.join("..") : "");
  return next;
}

/** The address with another x axis, without the zoom, which would not apply to it. */
export function writeAxis(params: URLSearchParams, axis: string): URLSearchParams {
  const next = new URLSearchParams(params);
  next.set("x", axis);
  next.delete("zoom");
  return next;
}
