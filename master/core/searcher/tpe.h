// Tree-structured Parzen estimator (Bergstra, Bardenet, Bengio and Kegl, "Algorithms for
// hyper-parameter optimization", NIPS 2011): fits one density to the good points and one to the
// others, and chooses, among candidates drawn from the first, the one with the largest ratio of the
// densities.
//
// Usually over all hyperparameters jointly, as in BOHB (Falkner et al., ICML 2018); for some trials
// over each separately, which is better if they are independent. The settings follow Watanabe
// ("Tree-structured Parzen estimator: understanding its algorithm components and their roles",
// 2023); the narrow kernels were tuned with tests/bench/search.
//
// Running trials without a report count as bad (constant liar). With several objectives, the good
// points are the first in Pareto order (Ozaki et al., "Multiobjective tree-structured Parzen
// estimator", 2020).
//
// For trials of different lengths see History::Rank. Under successive halving, where most trials
// end early, a third of the points is random and the kernels are wide, as in BOHB. PURE.
#ifndef MASTER_CORE_SEARCHER_TPE_H_
#define MASTER_CORE_SEARCHER_TPE_H_

#include "absl/status/status.h"
#include "master/core/searcher/history.h"
#include "master/core/searcher/sampler.h"

namespace det::searcher {

class TpeSampler final : public Sampler {
 public:
  explicit TpeSampler(size_t objectives) : history_(objectives) {}

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

  History history_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_TPE_H_
