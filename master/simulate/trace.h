// Synthetic workloads with the statistics of real GPU clusters (Jeon et al., "Analysis of
// Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads", ATC 2019; Hu et al.,
// "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters",
// SC 2021; Weng et al., "MLaaS in the Wild", NSDI 2022): half of the jobs need one slot, nearly all
// a power of two, and the few large ones most of the slot hours; lengths have a median of minutes
// and a tail of days; arrivals follow the working day; a few users submit most of the jobs.
//
// The same options give the same workload on every machine. PURE.
#ifndef MASTER_SIMULATE_TRACE_H_
#define MASTER_SIMULATE_TRACE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "master/simulate/workload.h"

namespace det::simulate {

struct TraceOptions {
  int jobs = 5000;
  // Requested slot seconds per available slot second while jobs arrive.
  double load = 0.9;
  int cluster_slots = 8000;
  int max_slots = 0;  // of one job; 0: an eighth of the cluster, from 8 to 512
  // Lengths: lognormal (of this median for one slot, longer for more), and for the share `tail` of
  // the jobs bounded Pareto from tail_from to max_length.
  absl::Duration median_length = absl::Minutes(4);
  double sigma = 1.9;
  double tail = 0.12;
  double tail_alpha = 0.9;
  absl::Duration tail_from = absl::Hours(1);
  absl::Duration max_length = absl::Hours(72);
  double day_swing = 0.6;  // arrivals vary by this around the mean, most in the afternoon
  int users = 64;
  int workspaces = 8;
  double run_times = 0;  // fraction of the jobs with a max_run_time, of 1.2 to 4 times their length
  uint64_t seed = 1;
};

// The window over which they arrive follows from jobs and load.
Workload MakeTrace(const TraceOptions& options);

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_TRACE_H_
