import { drawCurve, type Plane } from "./columns";
import type { Series } from "./series";

/** A table as CSV (RFC 4180). */
export function formatCsv(lines: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number) => (typeof value === "number" ? value : quote(value));
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

/** The points of all series as CSV (RFC 4180), one line per point: series, x, y. */
export function seriesToCsv(series: readonly Series[], xName: string, yName: string): string {
  const lines = [["series", xName, yName].map(quote).join(",")];
  for (const each of series) {
    for (let i = 0; i < each.x.length; i++) {
      lines.push(`${quote(each.label)},${each.x[i]},${each.y[i]}`);
    }
  }
  return lines.join("\r\n") + "\r\n";
}

function quote(text: string): string {
  // Spreadsheets evaluate a leading = or @ as a formula.
  const safe = /^[=@+\-\t]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A curve as the `d` attribute of an SVG path, drawn as on the screen. */
export function toSvgPath(x: ArrayLike<number>, y: ArrayLike<number>, plane: Plane): string {
  const parts: string[] = [];
  const number = (value: number) => Number(value.toFixed(2));
  drawCurve(
    {
      moveTo: (px, py) => void parts.push(`M${number(px)} ${number(py)}`),
      lineTo: (px, py) => void parts.push(`L${number(px)} ${number(py)}`),
    },
    x,
    y,
    plane,
  );
  return parts.join("");
}

/** Saves a file as a browser download. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  URL.revokeObjectURL(link.href);
}
