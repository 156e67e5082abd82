import type { Message } from "@/api/types";
import { formatCsv } from "@/charts/export";
import type { Series } from "@/charts/series";

type Entry = Message["ResourceAllocationRawEntry"];

/** Slot-hours of one user, workspace, ... */
export interface Used {
  name: string;
  slotHours: number;
}

/** Sums slot-hours by a field of the entries, largest first. */
export function sumSlotHours(
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

/** A usage table as CSV. */
export function formatUsageCsv(head: string, rows: readonly Used[]): string {
  const lines = rows.map(({ name, slotHours }) => [name, Number(slotHours.toFixed(4))] as const);
  return formatCsv([[head, "Slot-hours"], ...lines]);
}

/** Slots of a pool that were used or offered during an interval; without an end: until now. */
export interface Held {
  resourcePool?: string;
  slots?: number;
  startTime?: string;
  endTime?: string;
}

/** The number of slots from each time on. */
type Steps = [at: number, slots: number][];

/** The slots of each pool as steps: at `from` (milliseconds) and after each change until `to`. */
function toSteps(entries: readonly Held[], from: number, to: number): Map<string, Steps> {
  const changes = new Map<string, Steps>();
  for (const { resourcePool = "", slots = 0, startTime, endTime } of entries) {
    const begin = Math.max(from, Date.parse(startTime ?? ""));
    const end = endTime ? Math.min(to, Date.parse(endTime)) : to;
    if (!(begin < end)) continue;
    const list = changes.get(resourcePool) ?? [];
    list.push([begin, slots], [end, -slots]);
    changes.set(resourcePool, list);
  }
  const steps = new Map<string, Steps>();
  for (const [pool, list] of changes) {
    let now = 0;
    const sums = list
      .sort((a, b) => a[0] - b[0])
      .filter(([at]) => at < to)
      .map(([at, by]): [number, number] => {
        now += by;
        return [at, now];
      });
    steps.set(pool, [[from, 0], ...sums]);
  }
  return steps;
}

/** Converts steps to a curve, with x in `unit`s (milliseconds) relative to `to`. */
function toCurve(steps: Steps, to: number, unit: number) {
  const x: number[] = [];
  const y: number[] = [];
  steps.forEach(([at, slots], i) => {
    const position = (at - to) / unit;
    if (i > 0) {
      x.push(position);
      y.push(steps[i - 1]?.[1] ?? 0);
    }
    x.push(position);
    y.push(slots);
  });
  return { x: [...x, 0], y: [...y, steps.at(-1)?.[1] ?? 0] };
}

// Capacity has the colour of its pool's usage, dashed.
const DASHED = 8;

/** The used slots and the capacity of each pool between `from` and `to` (milliseconds), one curve each. */
export function computeUtilization(
  entries: readonly Held[],
  capacity: readonly Held[],
  from: number,
  to: number,
  unit: number,
): Series[] {
  const used = toSteps(entries, from, to);
  const capacities = toSteps(capacity, from, to);
  return listPools(used, capacities).flatMap((pool, rank) => {
    const label = pool || "no pool";
    const use = used.get(pool);
    const all = capacities.get(pool);
    return [
      ...(use ? [{ id: pool, label, rank: rank % DASHED, ...toCurve(use, to, unit) }] : []),
      ...(all
        ? [
            {
              id: `${pool} capacity`,
              label: `${label}: capacity`,
              rank: (rank % DASHED) + DASHED,
              ...toCurve(all, to, unit),
            },
          ]
        : []),
    ];
  });
}

const listPools = (...each: Map<string, Steps>[]) =>
  [...new Set(each.flatMap((steps) => [...steps.keys()]))].sort();

/** Joins both step functions at the times of their changes. */
function joinSteps(used: Steps, capacities: Steps): [at: number, use: number, all: number][] {
  const changes = [
    ...used.map(([at, slots]) => ({ at, use: slots })),
    ...capacities.map(([at, slots]) => ({ at, all: slots })),
  ].sort((a, b) => a.at - b.at);
  let now = { use: 0, all: 0 };
  const lines = new Map<number, [number, number, number]>();
  for (const change of changes) {
    now = { ...now, ...change };
    lines.set(change.at, [change.at, now.use, now.all]);
  }
  return [...lines.values()];
}

/** All changes of usage and capacity as CSV. */
export function formatUtilizationCsv(
  entries: readonly Held[],
  capacity: readonly Held[],
  from: number,
  to: number,
): string {
  const used = toSteps(entries, from, to);
  const capacities = toSteps(capacity, from, to);
  const lines = listPools(used, capacities).flatMap((pool) =>
    joinSteps(used.get(pool) ?? [], capacities.get(pool) ?? []).map(
      ([time, use, all]) => [pool, new Date(time).toISOString(), use, all] as const,
    ),
  );
  return formatCsv([["pool", "time", "slots in use", "all slots"], ...lines]);
}
