// Every trial in full: max_trials points of a sampler, at most max_concurrent_trials at once. With
// independent samples it is `random`, with one trial `single`, with a model `tpe` and `bayesian`.
// Made by MakeSearchMethod; see search_method.h for how it is called.
// PURE.
#ifndef MASTER_CORE_SEARCHER_FULL_LENGTH_H_
#define MASTER_CORE_SEARCHER_FULL_LENGTH_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "master/core/searcher/sampler.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class FullLengthSearch final : public SearchMethod {
 public:
  struct Options {
    int64_t max_trials = 1;
    int64_t max_concurrent_trials = 16;  // 0: no limit
    // How many trials with invalid hyperparameters are replaced by new samples, beyond max_trials.
    // Bounded, because a space may hold no valid point at all.
    int64_t max_replacements = 0;
    int64_t max_length = 0;
  };
  FullLengthSearch(const Options& options, std::unique_ptr<Sampler> sampler)
      : options_(options), sampler_(std::move(sampler)) {}

  std::vector<Operation> Start(Context context) override;
  std::vector<Operation> OnReport(Context context, const Report& report) override;
  std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) override;
  double Progress(const std::map<model::RequestId, double>& trial_progress) const override;
  Plan Preview(const model::SearchSpace& space) const override;
  model::Value Snapshot() const override;
  absl::Status Restore(const model::Value& snapshot) override;

 private:
  struct Counts {
    int64_t created = 0;   // all that were ever asked for
    int64_t replaced = 0;  // of these, invalid ones that another took the place of
    int64_t completed = 0;
    int64_t failed = 0;
    int64_t canceled = 0;
  };

  int64_t ended() const { return counts_.completed + counts_.failed + counts_.canceled; }
  int64_t live() const { return counts_.created - counts_.replaced - ended(); }
  // Asks for as many trials as may run, or for the end when all have.
  std::vector<Operation> Continue(Context context);

  Options options_;
  std::unique_ptr<Sampler> sampler_;
  Counts counts_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_FULL_LENGTH_H_
