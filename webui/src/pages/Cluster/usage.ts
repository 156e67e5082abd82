import type { Message } from "@/api/types";
import { csvOf } from "@/charts/export";
import type { Series } from "@/charts/series";

type Entry = Message["ResourceAllocationRawEntry"];

/** Slot-hours of one user, workspace, ... */
export interface Used {
  name: string;
  slotHours: number;
}

/** Slot-hours by a field of the entries, the most first. */
export function usedBy(
  entries: readonly Entry[],
  field: "username" | "workspaceName" | "resourcePool",
): Used[] {
  const hours = new Map<string, number>();
  for (const entry of entries) {
    const name = entry[field] || "–";
    const more = ((entry.seconds ?? 0) * (entry.slots ?? 0)) / 3600;
    hours.set(name, (hours.get(name) ?? 0) + more);
  }
  return [...hours]
    .map(([name, slotHours]) => ({ name, slotHours }))
    .sort((a, b) => b.slotHours - a.slotHours);
}

/** What a table of usage shows, as CSV. */
export function usedCsv(head: string, rows: readonly Used[]): string {
  const lines = rows.map(({ name, slotHours }) => [name, Number(slotHours.toFixed(4))] as const);
  return csvOf([[head, "Slot-hours"], ...lines]);
}

/**
 * Slots in use over time, a curve for each pool: steps between `from` and `to` (milliseconds), with x in
 * `unit`s (milliseconds) before `to`, so that now is 0.
 */
export function utilisationOf(
  entries: readonly Entry[],
  from: number,
  to: number,
  unit: number,
): Series[] {
  const changes = new Map<string, [at: number, by: number][]>();
  for (const { resourcePool = "", slots = 0, startTime, endTime } of entries) {
    const begin = Math.max(from, Date.parse(startTime ?? ""));
    const end = endTime ? Math.min(to, Date.parse(endTime)) : to;
    if (!(begin < end)) continue;
    const list = changes.get(resourcePool) ?? [];
    list.push([begin, slots], [end, -slots]);
    changes.set(resourcePool, list);
  }
  return [...changes.keys()].sort().map((pool, rank) => {
    const x = [(from - to) / unit];
    const y = [0];
    let now = 0;
    for (const [at, by] of (changes.get(pool) ?? []).sort((a, b) => a[0] - b[0])) {
      if (at >= to) break;
      const place = (at - to) / unit;
      x.push(place, place);
      y.push(now, (now += by));
    }
    x.push(0);
    y.push(now);
    return { id: pool, label: pool || "no pool", rank, x, y };
  });
}
