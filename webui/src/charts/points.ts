/** Values that were reported together, as the API says them. */
export interface Point {
  batches?: number;
  epoch?: number;
  time?: string;
  values?: object;
}

/** What a chart's x is. */
export type XAxis = "batches" | "epochs" | "time";
export const X_AXES: readonly XAxis[] = ["batches", "epochs", "time"];

/** The columns of one metric's curve. Time is in seconds from the first point; without epochs, there are none. */
export function columnsOf(points: readonly Point[], metric: string, axis: XAxis) {
  const first = Date.parse(points[0]?.time ?? "");
  const x = Float64Array.from(points, (point) => {
    if (axis === "batches") return point.batches ?? 0;
    if (axis === "epochs") return point.epoch ?? NaN;
    return (Date.parse(point.time ?? "") - first) / 1000;
  });
  const y = Float64Array.from(points, (point) => {
    const value = (point.values as Record<string, unknown> | undefined)?.[metric];
    return typeof value === "number" ? value : NaN;
  });
  return x.every(Number.isFinite) ? { x, y } : { x: new Float64Array(), y: new Float64Array() };
}
