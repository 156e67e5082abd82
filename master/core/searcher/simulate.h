// Simulation of a whole search in memory: the configured method against learning curves. Training
// one unit of length takes one unit of virtual time on one slot; saving, pausing and starting take
// none. Deterministic: of events at the same time, that of the trial that was created first comes
// first. Called by `det search simulate` and by tests and benchmarks of search methods. PURE.
#ifndef MASTER_CORE_SEARCHER_SIMULATE_H_
#define MASTER_CORE_SEARCHER_SIMULATE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/ids.h"
#include "master/core/model/value.h"

namespace det::searcher {

// Returns the metrics of a validation, in the order of the objectives, of a trial with these
// hyperparameters at this length; empty if it reports nothing there. `length` includes the training
// of the trial whose checkpoint it started from.
using LearningCurve = std::function<std::vector<double>(const model::Hparams&, int64_t length)>;

struct SimulationOptions {
  int64_t slots = 0;  // 0: no limit
  // A trial reports at the lengths that its method requires, at its end, and at multiples of this;
  // 0: at no others.
  int64_t report_every = 0;
  // Called after each event; if it returns false, the simulation ends with RESOURCE_EXHAUSTED.
  std::function<bool()> keep_going = nullptr;
};

struct SimulatedTrial {
  model::RequestId request;
  model::Hparams hparams;
  int64_t length = 0;           // trained by itself
  std::vector<double> metrics;  // as last reported; empty: never
};

// The best value of the first objective from this number of units on.
struct BestSoFar {
  int64_t units = 0;
  double metric = 0;
  model::RequestId request;
};

struct Simulation {
  std::vector<SimulatedTrial> trials;  // in the order of their creation
  std::vector<BestSoFar> best;         // improving; only finite values
  int64_t units = 0;                   // trained by all together
  int64_t time = 0;                    // when the last trial ended
};

// INVALID_ARGUMENT for an invalid searcher, or without a maximum length. FAILED_PRECONDITION for a
// search that waits for operations (method `custom`).
absl::StatusOr<Simulation> Simulate(const model::ExperimentConfig& config,
                                    const LearningCurve& curve,
                                    const SimulationOptions& options = {});

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SIMULATE_H_
