// A search over several brackets with a common concurrency limit, the sum of their shares. The next
// trial is that of the first bracket that runs fewer than its share and can start one; otherwise
// that of the first bracket that can start one, so that the limit is used while a bracket waits or
// has ended.
//
// One sampler serves all brackets, so that a model learns from each of them. The trials of bracket
// b are named "b-1", "b-2", ... and draw from rng.Split(b); those of a single bracket "1", "2", ...
//
// Created by asha.h, adaptive_asha.h and hyperband.h. PURE.
#ifndef MASTER_CORE_SEARCHER_MULTI_BRACKET_H_
#define MASTER_CORE_SEARCHER_MULTI_BRACKET_H_

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "master/core/searcher/halving.h"
#include "master/core/searcher/sampler.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class MultiBracketSearch final : public SearchMethod {
 public:
  struct BracketOptions {
    Halving::Options halving;  // its prefix is overwritten
    int64_t share = 0;         // of the concurrency limit; 0: what the others leave
  };
  // REQUIRES at least one bracket, and a share that is not 0.
  MultiBracketSearch(const std::vector<BracketOptions>& brackets, std::unique_ptr<Sampler> sampler);

  std::vector<Operation> Start(Context context) override;
  std::vector<Operation> OnReport(Context context, const Report& report) override;
  std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) override;
  // The mean over the brackets, weighted by their trials.
  double Progress(const std::map<model::RequestId, double>& trial_progress) const override;
  std::vector<Bracket> Brackets() const override;
  std::vector<int64_t> ReportLengths(const model::RequestId& request) const override;
  Plan Preview(const model::SearchSpace& space) const override;
  model::Value Snapshot() const override;
  absl::Status Restore(const model::Value& snapshot) override;

 private:
  struct BracketState {
    Halving halving;
    int64_t share = 0;
  };
  struct Location {
    size_t bracket = 0;
    int64_t trial = 0;
  };

  // Returns the bracket and number of the trial; nullopt for an unknown request id.
  std::optional<Location> Locate(const model::RequestId& request) const;
  // Starts trials up to the concurrency limit, and ends the search when every bracket is done.
  void Continue(Context context, std::vector<Operation>& operations);
  std::optional<Operation> StartNext(Context context);
  std::optional<Operation> StartNext(Context context, size_t bracket);

  std::vector<BracketState> brackets_;
  int64_t max_concurrent_ = 0;
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_MULTI_BRACKET_H_
