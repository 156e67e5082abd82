import { PLAIN_VIEW, type ChartView, type Range } from "@/charts/view";

/*
 * How charts are shown, as the address of their page says it: `log` and `smooth` of each chart by its name,
 * `zoom` and the series that are left out (`hide`) of all of them.
 */

const encodeNames = (names: Iterable<string>) => [...names].map(encodeURIComponent).join(",");

// An address is typed by people as well: a stray % is one.
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

/** How the chart of this name is shown. */
export function readChart(params: URLSearchParams, chart: string): ChartView {
  const zoom = parseZoom(params.get("zoom"));
  return {
    isLog: parseList(params.get("log")).includes(chart),
    weight: parseWeights(params.get("smooth")).get(chart) ?? PLAIN_VIEW.weight,
    hidden: new Set(parseList(params.get("hide"))),
    ...(zoom && { zoom }),
  };
}

/** The address with what is changed of this chart; what is as usual is left out. */
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

/** The address with another x, on which what was zoomed into would be somewhere else. */
export function writeAxis(params: URLSearchParams, axis: string): URLSearchParams {
  const next = new URLSearchParams(params);
  next.set("x", axis);
  next.delete("zoom");
  return next;
}
