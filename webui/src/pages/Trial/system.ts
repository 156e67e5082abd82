import type { Metric } from "@/api/trialQueries";

// What the machine reports of itself, and not the training.
const isSystem = ({ group }: Metric) => /^(system|cpu|gpu|memory|disk|net|profil)/i.test(group);

/** The metrics of the machine, or those of the training. */
export const selectMetrics = (metrics: readonly Metric[], ofMachine: boolean) =>
  metrics.filter((metric) => isSystem(metric) === ofMachine);

// As the profiler of the Python package reports them.
const UNITS: [name: RegExp, unit: string][] = [
  [/^cpu_util_simple$/, "%"],
  [/gpu_util$/, "%"],
  [/^memory_free$/, "GiB"],
  [/gpu_free_memory$/, "MiB"],
  [/^(disk|net)_throughput_/, "bytes / s"],
];

/** The unit of what is known to have one, to be written behind a name: " (%)". */
export function getUnit(metric: Metric): string {
  const unit = isSystem(metric) ? UNITS.find(([name]) => name.test(metric.name))?.[1] : undefined;
  return unit ? ` (${unit})` : "";
}
