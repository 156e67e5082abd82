// Samples independent points, uniform in the scale of each hyperparameter. Stateless. PURE.
#ifndef MASTER_CORE_SEARCHER_RANDOM_SAMPLER_H_
#define MASTER_CORE_SEARCHER_RANDOM_SAMPLER_H_

#include "absl/status/status.h"
#include "master/core/searcher/sampler.h"

namespace det::searcher {

class RandomSampler final : public Sampler {
 public:
  model::Hparams Next(const model::SearchSpace& space, const model::RequestId& request,
                      base::Rng& rng) override;
  void OnReport(const Report&) override {}
  void OnExited(const model::RequestId&, TrialEnd) override {}
  model::Value Snapshot() const override { return model::Value(); }
  absl::Status Restore(const model::Value& snapshot) override;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_RANDOM_SAMPLER_H_
