import type { QueryClient, QueryFilters, QueryKey } from "@tanstack/react-query";

/** A report of a trial, as sent by its experiment's stream. */
export interface ReportedPoint {
  trialId?: number;
  group?: string;
  batches?: number;
  values?: Record<string, unknown>;
  time?: string;
  epoch?: number;
}

/** Adds points to data; returns the same data if none of the points belongs there. */
export type Add<T> = (data: T, points: readonly ReportedPoint[]) => T;

/**
 * Buffers the points of an experiment that arrive during a read: the response may be older than
 * they are.
 */
class PointLog {
  private readers = 0;
  private kept: ReportedPoint[] = [];

  tell(points: readonly ReportedPoint[]) {
    if (this.readers > 0) this.kept.push(...points);
  }

  async around<T>(read: () => Promise<T>, add: Add<T>): Promise<T> {
    const from = this.kept.length;
    this.readers++;
    try {
      const data = await read();
      return add(data, this.kept.slice(from));
    } finally {
      this.readers--;
      if (this.readers === 0) this.kept = [];
    }
  }
}

const logs = new WeakMap<QueryClient, Map<number, PointLog>>();

function getPointLog(client: QueryClient, experimentId: number): PointLog {
  const all = logs.get(client) ?? new Map<number, PointLog>();
  logs.set(client, all);
  const log = all.get(experimentId) ?? new PointLog();
  all.set(experimentId, log);
  return log;
}

/**
 * A query of an experiment's reported metrics. It is read once; later points are added to it. A point may
 * arrive more than once, so `add` must replace a point at the same position.
 */
export function liveQuery<T>(
  experimentId: number,
  {
    queryKey,
    read,
    add,
  }: { queryKey: QueryKey; read: (signal: AbortSignal) => Promise<T>; add: Add<T> },
) {
  return {
    queryKey,
    meta: { reported: { experimentId, add } },
    queryFn: ({ signal, client }: { signal: AbortSignal; client: QueryClient }) =>
      getPointLog(client, experimentId).around(() => read(signal), add),
  };
}

const getLiveMeta = (meta: Record<string, unknown> | undefined) =>
  meta?.["reported"] as { experimentId: number; add: Add<unknown> } | undefined;

/** Matches the queries that reported points are added to. */
export const liveQueryFilter = (experimentId: number): QueryFilters => ({
  predicate: ({ meta }) => getLiveMeta(meta)?.experimentId === experimentId,
});

/** Adds points to all live queries of the experiment. */
export function applyReported(
  client: QueryClient,
  experimentId: number,
  points: readonly ReportedPoint[],
): void {
  getPointLog(client, experimentId).tell(points);
  for (const query of client.getQueryCache().findAll(liveQueryFilter(experimentId))) {
    const data: unknown = query.state.data;
    const next = data === undefined ? data : getLiveMeta(query.meta)?.add(data, points);
    if (next === data) continue;
    client.setQueryData(query.queryKey, next, { updatedAt: query.state.dataUpdatedAt });
  }
}

/**
 * Collects a metric's values by trial and batches (ascending). Of several reports at the same
 * batches the last one counts.
 */
export function collectValues<T>(
  points: readonly ReportedPoint[],
  { group, name }: { group: string; name: string },
  of: (point: ReportedPoint) => T,
): Map<number, Map<number, T>> {
  const trials = new Map<number, Map<number, T>>();
  for (const point of points) {
    if (point.group !== group || !(name in (point.values ?? {}))) continue;
    const id = point.trialId ?? 0;
    const known = trials.get(id) ?? new Map<number, T>();
    trials.set(id, known.set(point.batches ?? 0, of(point)));
  }
  for (const [id, values] of trials) {
    trials.set(id, new Map([...values].sort(([a], [b]) => a - b)));
  }
  return trials;
}

/** Adds the names of metrics that were reported for the first time. */
export const addNames: Add<{ group: string; name: string }[]> = (names, points) => {
  const known = new Set(names.map(({ group, name }) => `${group}.${name}`));
  const fresh = points.flatMap(({ group = "", values = {} }) =>
    Object.keys(values).flatMap((name) => {
      const isNew = !known.has(`${group}.${name}`);
      known.add(`${group}.${name}`);
      return isNew ? [{ group, name }] : [];
    }),
  );
  return fresh.length > 0 ? [...names, ...fresh] : names;
};
