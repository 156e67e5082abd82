import type { Metric } from "@/api/trialQueries";

// System metrics, by group name.
const isSystem = ({ group }: Metric) => /^(system|cpu|gpu|memory|disk|net|profil)/i.test(group);

/** Selects the system metrics, or the training metrics. */
export const selectMetrics = (metrics: readonly Metric[], ofMachine: boolean) =>
  metrics.filter((metric) => isSystem(metric) === ofMachine);

// The names that the profiler of the Python package reports.
const UNITS: [name: RegExp, unit: string][] = [
  [/^cpu_util_simple$/, "%"],
  [/gpu_util$/, "%"],
  [/^memory_free$/, "GiB"],
  [/gpu_free_memory$/, "MiB"],
  [/^(disk|net)_throughput_/, "bytes / s"],
];

/** The unit of a known system metric as a suffix of its name: " (%)". */
export function getUnit(metric: Metric): string {
  const unit = isSystem(metric) ? UNITS.find(([name]) => name.test(metric.name))?.[1] : undefined;
  return unit ? ` (${unit})` : "";
}
