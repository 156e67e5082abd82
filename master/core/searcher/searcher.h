// The searcher of one experiment: a search method, its random numbers, and the state that makes it
// restorable. A snapshot and the journal since then restore it exactly.
//
// Called by experiment::Experiment on the cluster's loop. PURE.
#ifndef MASTER_CORE_SEARCHER_SEARCHER_H_
#define MASTER_CORE_SEARCHER_SEARCHER_H_

#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/rng.h"
#include "master/core/model/experiment_config.h"
#include "master/core/searcher/operation.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class Searcher {
 public:
  // REQUIRES a validated configuration; the seed is that of the experiment.
  static absl::StatusOr<Searcher> Make(const model::ExperimentConfig& config);
  static absl::StatusOr<Searcher> Restore(const model::ExperimentConfig& config,
                                          const model::Value& snapshot);

  Searcher(Searcher&&) = default;
  Searcher& operator=(Searcher&&) = default;

  std::vector<Operation> Start();
  // Handles an event and returns operations. A repeated or late event changes nothing and returns
  // nothing: a trial created or exited twice, any event of a trial that has exited or was never
  // created, a validation not later than the last one of its trial, or of a trial that is being
  // stopped. Validations of a trial that is being paused are withheld until it resumes, because the
  // time to pause must not change the search; so is its exit if it trains to its end instead. After
  // Shutdown it returns nothing. An OperationsPosted that is rejected changes nothing.
  std::vector<Operation> Handle(const Event& event);
  // Like Handle, but returns why the operations were rejected.
  absl::StatusOr<std::vector<Operation>> Post(const OperationsPosted& event);
  // Returns the events that the program has not acknowledged; see search_method.h.
  std::vector<PendingEvent> PendingEvents(int64_t after = 0,
                                          size_t most = std::numeric_limits<size_t>::max()) const {
    return method_->PendingEvents(after, most);
  }

  // Not part of the snapshot, because trials report their progress repeatedly.
  void SetTrialProgress(const model::RequestId& request, double progress);
  double Progress() const;

  // Whether the method has returned Shutdown, and with which result.
  bool shut_down() const { return shutdown_.has_value(); }
  bool failed() const { return shutdown_ && shutdown_->failed; }
  bool canceled() const { return shutdown_ && shutdown_->canceled; }

  // The state of the search, and its plan for a trial; see search_method.h.
  std::vector<Bracket> Brackets() const { return method_->Brackets(); }
  std::vector<int64_t> ReportLengths(const model::RequestId& request) const {
    return method_->ReportLengths(request);
  }
  Plan Preview() const { return method_->Preview(space_); }

  model::Value Snapshot() const;

 private:
  // A trial that was created and has not exited.
  struct LiveTrial {
    bool created = false;
    bool paused = false;
    bool stopped = false;
    std::optional<int64_t> last_validation;  // steps completed
    // Events since it was paused, in order: validations, and possibly its completion.
    std::deque<Event> withheld = {};
    bool IsOver() const {
      return !withheld.empty() && std::holds_alternative<TrialExited>(withheld.back());
    }
  };

  Searcher(const model::ExperimentConfig& config, std::unique_ptr<SearchMethod> method);

  Context context() const { return Context{.space = space_, .rng = rng_}; }
  std::vector<Operation> HandleCreated(const TrialCreated& event);
  std::vector<Operation> HandleValidation(const ValidationReported& event);
  std::vector<Operation> HandleExited(const TrialExited& event);
  Report MakeReport(const ValidationReported& event) const;
  // Records the operations, drops those without an effect, and passes the withheld events of
  // resumed and stopped trials to the method.
  std::vector<Operation> Record(std::vector<Operation> operations);
  bool Accept(const Operation& operation);
  std::optional<Event> NextWithheld(const model::RequestId& request);
  std::vector<Operation> Dispatch(const Event& event);
  absl::Status RestoreTrials(const model::Value& trials);

  model::SearchSpace space_;
  std::vector<model::Objective> objectives_;
  std::unique_ptr<SearchMethod> method_;
  base::Rng rng_;
  std::map<model::RequestId, LiveTrial> live_;
  std::map<model::RequestId, double> progress_;  // of live trials
  std::optional<Shutdown> shutdown_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SEARCHER_H_
