// The searcher of one experiment: a search method, its random numbers, and the bookkeeping that
// makes it restorable. Value semantics are by snapshot: journal + snapshot restore exactly.
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
#include <vector>

#include "absl/status/statusor.h"
#include "base/rng.h"
#include "master/core/model/experiment_config.h"
#include "master/core/searcher/operation.h"
#include "master/core/searcher/search_method.h"

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
  // last one of its trial, or of a trial that was told to stop. What a trial that was told to pause
  // does until it has paused is heard when it is to go on: how soon it pauses must not change the
  // search. So too its end, where it trained to its end instead. After Shutdown nothing is asked
  // for. An OperationsPosted that is refused changes nothing.
  std::vector<Operation> Handle(const Event& event);
  // As Handle, for whoever wants to know why it was refused.
  absl::StatusOr<std::vector<Operation>> Post(const OperationsPosted& event);
  // What the program that posts has not yet read; search_method.h.
  std::vector<PendingEvent> PendingEvents(int64_t after = 0,
                                          size_t most = std::numeric_limits<size_t>::max()) const {
    return method_->PendingEvents(after, most);
  }

  // Not a part of the snapshot: trials report their progress again.
  void SetTrialProgress(const model::RequestId& request, double progress);
  double Progress() const;

  // Whether the method has said Shutdown, and what it said of the search.
  bool shut_down() const { return shutdown_.has_value(); }
  bool failed() const { return shutdown_ && shutdown_->failed; }
  bool canceled() const { return shutdown_ && shutdown_->canceled; }

  // Where the search stands, and what it plans for a trial; see search_method.h.
  std::vector<Bracket> Brackets() const { return method_->Brackets(); }
  std::vector<int64_t> ReportLengths(const model::RequestId& request) const {
    return method_->ReportLengths(request);
  }
  Plan Preview() const { return method_->Preview(space_); }

  model::Value Snapshot() const;

 private:
  // A trial that was asked for and has not exited.
  struct LiveTrial {
    bool created = false;
    bool paused = false;
    bool stopped = false;
    std::optional<int64_t> last_validation;  // steps completed
    // Since it was told to pause, in order: validations, and last that it completed.
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
  // Notes what was asked for, leaves out what no longer means anything, and lets the method hear
  // what was withheld of those that go on or stop.
  std::vector<Operation> Record(std::vector<Operation> operations);
  bool Note(const Operation& operation);
  std::optional<Event> NextWithheld(const model::RequestId& request);
  std::vector<Operation> Tell(const Event& event);
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
