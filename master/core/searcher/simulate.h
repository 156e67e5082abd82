// A whole search in memory: the configured method against learning curves, at full speed. Training
// one unit of length takes one unit of virtual time on one slot; saving, pausing and starting take
// none. Deterministic: of events at one time the trial that was asked for first comes first.
// Called by `det search simulate` and by tests and benchmarks of search methods. PURE.
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

// The metrics of a validation, in the order of the objectives, as a trial with these
// hyperparameters reports them when it has trained so far; empty: it reports nothing there.
// `length` includes what a trial that starts from another's checkpoint was given.
using LearningCurve = std::function<std::vector<double>(const model::Hparams&, int64_t length)>;

struct SimulationOptions {
  int64_t slots = 0;  // 0: as many as the search asks for
  // A trial reports at the lengths that its method wants, at its end, and at multiples of this; 0:
  // at no others.
  int64_t report_every = 0;
  // Asked after each event; false ends the simulation with RESOURCE_EXHAUSTED.
  std::function<bool()> go_on = nullptr;
};

struct SimulatedTrial {
  model::RequestId request;
  model::Hparams hparams;
  int64_t length = 0;           // trained by itself
  std::vector<double> metrics;  // as last reported; empty: never
};

// From so many units on, this is the best value of the first objective.
struct BestSoFar {
  int64_t units = 0;
  double metric = 0;
  model::RequestId request;
};

struct Simulation {
  std::vector<SimulatedTrial> trials;  // as they were asked for
  std::vector<BestSoFar> best;         // improving; what is not finite is none
  int64_t units = 0;                   // trained by all together
  int64_t time = 0;                    // when the last trial ended
};

// INVALID_ARGUMENT for what no searcher can be made of, or without a maximum length.
// FAILED_PRECONDITION for a search that waits for more than trials (method `custom`).
absl::StatusOr<Simulation> Simulate(const model::ExperimentConfig& config,
                                    const LearningCurve& curve,
                                    const SimulationOptions& options = {});

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SIMULATE_H_
