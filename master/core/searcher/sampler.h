// A sampler chooses the hyperparameters of the next trial from what the trials before it have
// reached. A search method owns one and says which trials run, and for how long; so any sampler
// goes with any method that takes one.
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

  // The point of trial `request`, which the sampler remembers as running. `rng` is that trial's
  // own.
  virtual model::Hparams Next(const model::SearchSpace& space, const model::RequestId& request,
                              base::Rng& rng) = 0;

  // What a trial has reached, at which length; the longest one counts, of equal lengths the last.
  virtual void OnReport(const Report& report) = 0;
  // A failed one counts as worst, one with invalid hyperparameters too, a canceled one not at all.
  virtual void OnExited(const model::RequestId& request, TrialEnd end) = 0;

  virtual model::Value Snapshot() const = 0;
  virtual absl::Status Restore(const model::Value& snapshot) = 0;
};

// Sorted.
std::vector<std::string> SamplerNames();

// INVALID_ARGUMENT for a name that is not known. `config` tells the number of objectives and the
// number of trials to come.
absl::StatusOr<std::unique_ptr<Sampler>> MakeSampler(const std::string& name,
                                                     const model::SearcherConfig& config);

// The trial with this number: named by it after the prefix, with a seed and a point drawn from
// rng.Split(number).
CreateTrial MakeTrial(Context context, Sampler& sampler, int64_t number,
                      const std::string& prefix = "");

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SAMPLER_H_
