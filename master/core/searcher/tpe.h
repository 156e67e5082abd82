// Tree-structured Parzen estimator (Bergstra, Bardenet, Bengio and Kegl, "Algorithms for
// hyper-parameter optimization", NIPS 2011): two densities, of the good points and of the others,
// and of candidates drawn from the first the one where it exceeds the second the most.
//
// Mostly over all hyperparameters at once, as BOHB has it (Falkner et al., ICML 2018), for some
// trials over each by itself, which is better where they do not depend on each other. The settings
// follow Watanabe ("Tree-structured Parzen estimator: understanding its algorithm components and
// their roles", 2023); the narrow kernels are this project's, by tests/bench/search.
//
// Trials that run and have not reported count as bad (constant liar). Several objectives: good is
// what comes first in Pareto order (Ozaki et al., "Multiobjective tree-structured Parzen
// estimator", 2020).
//
// Trials of different lengths: see History::Rank. Under successive halving, where most trials end
// early, a third of the points is random and the kernels are wide, after BOHB. PURE.
#ifndef MASTER_CORE_SEARCHER_TPE_H_
#define MASTER_CORE_SEARCHER_TPE_H_

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
