// The searcher of one experiment: a search method, its random numbers, and the bookkeeping that
// makes it restorable. Value semantics are by snapshot: journal + snapshot restore exactly.
//
// Called by experiment::Experiment on the cluster's loop. PURE.
#ifndef MASTER_SEARCHER_SEARCHER_H_
#define MASTER_SEARCHER_SEARCHER_H_

#include <map>
#include <memory>
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
  // A repeated event (same trial created twice, exited twice; a validation not later than the last
  // one of its trial) changes nothing and asks for nothing.
  std::vector<Operation> Handle(const Event& event);

  void SetTrialProgress(const model::RequestId& request, double progress);
  double Progress() const;

  // Whether the method has said Shutdown, and whether it said that the search failed.
  bool shut_down() const { return shut_down_; }
  bool failed() const { return failed_; }

  model::Value Snapshot() const;

 private:
  Searcher(model::SearchSpace space, std::unique_ptr<SearchMethod> method, base::Rng rng);

  model::SearchSpace space_;
  std::unique_ptr<SearchMethod> method_;
  base::Rng rng_;
  std::map<model::RequestId, double> progress_;
  std::map<model::RequestId, int64_t> last_steps_;
  std::map<model::RequestId, bool> exited_;
  bool shut_down_ = false;
  bool failed_ = false;
};

}  // namespace det::searcher

#endif  // MASTER_SEARCHER_SEARCHER_H_
