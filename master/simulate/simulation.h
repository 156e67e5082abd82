// A workload on a cluster in virtual time. The decisions are the real ones: cluster::Cluster, told
// of agents, experiments, starts and exits as the engine tells it. What is simulated is the rest:
// commits, orders and starts take no time; a trial computes until it is done, saves every
// `checkpoint_every`, and leaves at once when it is asked to, with what it had saved.
// Deterministic. Called by main and by benchmarks, on one thread. Never does I/O, reads no clock.
#ifndef MASTER_SIMULATE_SIMULATION_H_
#define MASTER_SIMULATE_SIMULATION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/resource_pool.h"
#include "master/simulate/workload.h"

namespace det::simulate {

// So many agents of so many slots each.
struct AgentGroup {
  int agents = 0;
  int slots = 0;
  std::string pool = "default";
  friend bool operator==(const AgentGroup&, const AgentGroup&) = default;
};
// "1000x8", "4x8:large". INVALID_ARGUMENT for anything else.
absl::StatusOr<AgentGroup> ParseAgentGroup(std::string_view text);

struct Options {
  std::vector<AgentGroup> agents = {{1000, 8}};  // jobs without a pool go to that of the first
  model::ResourcePool settings;                  // of every pool; its name does not count
  absl::Duration checkpoint_every = absl::Minutes(10);
};

// One run of a job on its slots; times since the beginning.
struct Run {
  absl::Duration begin;
  absl::Duration end;
  absl::Duration lost = absl::ZeroDuration();  // at its end: not saved when it was preempted
};

// What became of a job.
struct JobRecord {
  std::vector<Run> runs;
  absl::Duration waited;  // in the queue, all its waits together
  absl::Duration lost;    // by all runs together
  int preemptions = 0;
  bool completed = false;
  std::string why;  // not completed: the cluster's words

  // Until its first start; that of a job that never started has no end.
  absl::Duration FirstWait(const Job& job) const {
    return runs.empty() ? absl::InfiniteDuration() : runs.front().begin - job.arrival;
  }
};

struct Simulation {
  std::vector<JobRecord> jobs;  // as in the workload
  int64_t events = 0;           // applied to the cluster
  int64_t passes = 0;           // of the scheduler
};

// INVALID_ARGUMENT for a job whose pool has no agents. A job that the cluster refuses, or that can
// never start, is recorded as not completed.
absl::StatusOr<Simulation> Simulate(const Workload& workload, const Options& options);

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_SIMULATION_H_
