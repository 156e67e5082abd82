// Bayesian optimization (Mockus 1975; Jones, Schonlau and Welch, "Efficient global optimization of
// expensive black-box functions", 1998): fits a Gaussian process to the losses and chooses the
// point with the largest expected improvement, by its logarithm (Ament et al., "Unexpected
// improvements to expected improvement", NeurIPS 2023).
//
// Running trials without a report count with the loss that the model predicts ("kriging believer",
// Ginsbourger, Le Riche and Carraro 2010). Several objectives are combined with random weights for
// each trial (Knowles, "ParEGO", 2006). The losses of shorter trials are extrapolated to the common
// length, by the trials that reported at both lengths. PURE.
#ifndef MASTER_CORE_SEARCHER_BAYESIAN_H_
#define MASTER_CORE_SEARCHER_BAYESIAN_H_

#include "absl/status/status.h"
#include "master/core/searcher/history.h"
#include "master/core/searcher/sampler.h"

namespace det::searcher {

class BayesianSampler final : public Sampler {
 public:
  explicit BayesianSampler(size_t objectives) : objectives_(objectives), history_(objectives) {}

  model::Hparams Next(const model::SearchSpace& space, const model::RequestId& request,
                      base::Rng& rng) override;
  void OnReport(const Report& report) override { history_.OnReport(report); }
  void OnExited(const model::RequestId& request, TrialEnd end) override {
    history_.OnExited(request, end);
  }
  model::Value Snapshot() const override { return history_.Snapshot(); }
  absl::Status Restore(const model::Value& snapshot) override { return history_.Restore(snapshot); }

 private:
  Coordinates Choose(const Encoding& encoding, base::Rng& rng) const;

  size_t objectives_;
  History history_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_BAYESIAN_H_
