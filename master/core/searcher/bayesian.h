// Bayesian optimisation (Mockus 1975; Jones, Schonlau and Welch, "Efficient global optimization of
// expensive black-box functions", 1998): a Gaussian process of the losses, and the point of which
// the most improvement is expected, by its logarithm (Ament et al., "Unexpected improvements to
// expected improvement", NeurIPS 2023).
//
// Trials that run and have not reported count as if they had reached what the model expects of them
// ("kriging believer", Ginsbourger, Le Riche and Carraro 2010). Several objectives become one by
// weights drawn for each trial (Knowles, "ParEGO", 2006). Trials seen less of than others count
// with what their loss would be at the others' length, as the trials seen at both suggest. PURE.
#ifndef MASTER_CORE_SEARCHER_BAYESIAN_H_
#define MASTER_CORE_SEARCHER_BAYESIAN_H_

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
