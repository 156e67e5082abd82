// The searcher of one experiment: a search method, its random numbers, and the bookkeeping that
// makes it restorable. Value semantics are by snapshot: journal + snapshot restore exactly.
//
// Called by experiment::Experiment on the cluster's loop. PURE.
#ifndef MASTER_SEARCHER_SEARCHER_H_
#define MASTER_SEARCHER_SEARCHER_H_

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/rng.h"
#include "master/model/experiment_config.h"
#include "master/searcher/operation.h"
#include "master/searcher/search_method.h"

namespace det::searcher {

class Searcher {
 public:
  // The configuration must have been validated; the seed is the experiment's.
  static absl::StatusOr<Searcher> Make(const model::ExperimentConfig& config);
  static absl::StatusOr<Searcher> Restore(const model::ExperimentConfig& config,
                                          const model::Value& snapshot);

  Searcher(Searcher&&) = default;
  Searcher& operator=(Searcher&&) = default;

  std::vector<Operation> Start();
  // A repeated or late event changes nothing and asks for nothing: a trial created or exited twice,
  // anything about a trial that has exited or was never asked for, a validation not later than the
  // last one of its trial. After Shutdown nothing is asked for.
  std::vector<Operation> Handle(const Event& event);

  // Not a part of the snapshot: trials report their progress again.
  void SetTrialProgress(const model::RequestId& request, double progress);
  double Progress() const;

  // Whether the method has said Shutdown, and what it said of the search.
  bool shut_down() const { return shutdown_.has_value(); }
  bool failed() const { return shutdown_ && shutdown_->failed; }
  bool canceled() const { return shutdown_ && shutdown_->canceled; }

  // As large as the number of live trials, whatever the number of those that are over.
  model::Value Snapshot() const;

 private:
  // A trial that was asked for and has not exited.
  struct LiveTrial {
    bool created = false;
    std::optional<int64_t> last_validation;  // steps completed
  };

  Searcher(model::SearchSpace space, std::unique_ptr<SearchMethod> method, base::Rng rng);

  std::vector<Operation> Dispatch(const Event& event);
  std::vector<Operation> Record(std::vector<Operation> operations);
  absl::Status RestoreTrials(const model::Value& trials);

  model::SearchSpace space_;
  std::unique_ptr<SearchMethod> method_;
  base::Rng rng_;
  std::map<model::RequestId, LiveTrial> live_;
  std::map<model::RequestId, double> progress_;  // of live trials
  std::optional<Shutdown> shutdown_;
};

}  // namespace det::searcher

#endif  // MASTER_SEARCHER_SEARCHER_H_
