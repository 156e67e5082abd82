// `custom`: a user's program drives the search by ask and tell. It reads events and posts
// operations; both may be repeated at any time, after a lost response or a restart on either side.
//
// Events have ids 1, 2, ... and are kept until a post acknowledges them (events_read, the highest
// id read; a smaller one than before is allowed), so each is delivered at least once. As JSON, by
// "type":
//   {"type": "search_started"}                                  first, and once
//   {"type": "trial_created", "request": "a"}
//   {"type": "validation", "request": "a", "length": 12.0, "metrics": {"loss": 0.25}}
//   {"type": "trial_exited", "request": "a", "end": "completed"}
// `length` is in the searcher's unit. `metrics` are those of the objectives, as reported: "NaN",
// "Infinity" and "-Infinity" if they are not finite, absent if the trial did not report them. `end`
// is completed, failed, invalid_hp or canceled. A validation by a trial that is being paused is
// delivered when the trial resumes; one by a trial that is being stopped is not delivered.
//
// The program chooses an id for each post. The last kRememberedPosts ids are remembered: a repeated
// post changes nothing. Either all operations of a post are applied, or none:
//   create    a trial named `request`, with these hyperparameters. Idempotent. If the seed is 0,
//             the search chooses it.
//   pause, resume, stop    any trial that was ever created; no effect after it has ended.
//   shutdown  stops running trials, drops waiting ones, and ends the search when all have exited,
//             as failed or canceled if the operation says so. Must be the last operation.
// Trials start in the order of posting, at most max_concurrent_trials at the same time. A trial
// that is stopped before it was created exits as canceled.
//
// The search continues until it is shut down, whatever its trials do.
// PURE.
#ifndef MASTER_CORE_SEARCHER_CUSTOM_H_
#define MASTER_CORE_SEARCHER_CUSTOM_H_

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class CustomSearch final : public SearchMethod {
 public:
  static constexpr size_t kRememberedPosts = 1000;
  static constexpr size_t kMaxIdLength = 64;      // bytes, of a post's id and of a trial's
  static constexpr size_t kMaxOperations = 1000;  // of a post
  // If more events are unread, a validation replaces the previous one of its trial.
  static constexpr size_t kMaxUnread = 10'000;

  struct Options {
    int64_t max_concurrent_trials = 16;  // 0: no limit
    std::vector<std::string> metrics;    // of the objectives, in order
  };
  explicit CustomSearch(Options options) : options_(std::move(options)) {}

  std::vector<Operation> Start(Context context) override;
  std::vector<Operation> OnTrialCreated(Context context, const TrialCreated& event) override;
  std::vector<Operation> OnReport(Context context, const Report& report) override;
  std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) override;
  // INVALID_ARGUMENT, with the index of the operation, if it cannot be applied.
  absl::StatusOr<std::vector<Operation>> OnPosted(Context context,
                                                  const OperationsPosted& event) override;
  std::vector<PendingEvent> PendingEvents(int64_t after, size_t most) const override;
  // The fraction of the created trials that have ended.
  double Progress(const std::map<model::RequestId, double>& trial_progress) const override;
  Plan Preview(const model::SearchSpace& space) const override;  // empty, because it is unknown
  model::Value Snapshot() const override;
  absl::Status Restore(const model::Value& snapshot) override;

 private:
  enum class DesiredState { kRun, kPause, kStop };
  struct Trial {
    CreateTrial create;  // as posted
    int64_t number = 0;  // index of its random stream
    DesiredState desired = DesiredState::kRun;
    bool started = false;  // CreateTrial was returned
    bool running = false;  // started, neither paused nor exited
    bool exited = false;
  };

  absl::Status Check(const OperationsPosted& post) const;
  void Apply(const Operation& operation, std::vector<Operation>& operations);
  void Create(const CreateTrial& create);
  void Pause(Trial& trial, std::vector<Operation>& operations);
  void Resume(Trial& trial);
  void Stop(Trial& trial, std::vector<Operation>& operations);
  void Exit(Trial& trial, TrialEnd end);
  // Starts waiting trials up to the concurrency limit; ends the search when it is complete.
  std::vector<Operation> Continue(Context context);
  void AppendEvent(model::Value::Object description);
  absl::Status RestoreTrial(const model::Value& saved);
  absl::Status RestoreEvents(const model::Value& snapshot);

  Options options_;
  std::map<model::RequestId, Trial> trials_;  // all that were ever created
  std::deque<model::RequestId> waiting_;      // to be created or resumed, in order
  int64_t running_ = 0;
  int64_t live_ = 0;  // started and not exited
  int64_t exited_ = 0;
  std::deque<PendingEvent> events_;
  int64_t last_event_ = 0;
  std::deque<std::string> posts_;  // remembered ids, oldest first
  std::optional<Shutdown> shutdown_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_CUSTOM_H_
