// A sampler chooses the hyperparameters of the next trial from the results of previous trials. A
// search method owns one and decides which trials run, and for how long, so any sampler works with
// any method that uses one.
//
// Implementations: random_sampler.cc, tpe.cc, bayesian.cc. Called by search methods. PURE.
#ifndef MASTER_CORE_SEARCHER_SAMPLER_H_
#define MASTER_CORE_SEARCHER_SAMPLER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/rng.h"
#include "master/core/model/searcher_config.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Returns the point of trial `request`, which the sampler records as running. `rng` is the random
  // stream of that trial.
  virtual model::Hparams Next(const model::SearchSpace& space, const model::RequestId& request,
                              base::Rng& rng) = 0;

  // Records a report; the longest length counts, and the last report at that length.
  virtual void OnReport(const Report& report) = 0;
  // A failed trial, or one with invalid hyperparameters, counts as worst; a canceled one does not
  // count.
  virtual void OnExited(const model::RequestId& request, TrialEnd end) = 0;

  virtual model::Value Snapshot() const = 0;
  virtual absl::Status Restore(const model::Value& snapshot) = 0;
};

// Sorted.
std::vector<std::string> SamplerNames();

// INVALID_ARGUMENT for an unknown name. `config` has the number of objectives and of trials.
absl::StatusOr<std::unique_ptr<Sampler>> MakeSampler(const std::string& name,
                                                     const model::SearcherConfig& config);

// Creates the trial with this number: its request id is the prefix and the number, its seed and
// point are drawn from rng.Split(number).
CreateTrial MakeTrial(Context context, Sampler& sampler, int64_t number,
                      const std::string& prefix = "");

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SAMPLER_H_
