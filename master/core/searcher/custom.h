// `custom`: the user's own program drives the search by ask and tell. It reads events and posts
// operations; both may be repeated at any time, after a lost answer or a restart on either side.
//
// Events have ids 1, 2, ... and are kept until a post says that they were read (events_read, the
// highest id read; less than before is fine). So each is told at least once. As JSON, by "type":
//   {"type": "search_started"}                                  first, and once
//   {"type": "trial_created", "request": "a"}
//   {"type": "validation", "request": "a", "length": 12.0, "metrics": {"loss": 0.25}}
//   {"type": "trial_exited", "request": "a", "end": "completed"}
// Length is in the searcher's unit. Metrics are those of the objectives, as reported: "NaN",
// "Infinity" and "-Infinity" where they are no number, and left out where the trial left them out.
// End is completed, failed, invalid_hp or canceled. A validation by a trial that was told to pause
// is told when the trial goes on, one by a trial that was told to stop is not.
//
// A post has an id of its own, chosen by the program. The last kRememberedPosts ids are remembered:
// the same one again changes nothing. All operations of a post are done, or none:
//   create    a trial named `request`, with these hyperparameters as they are. The same again is no
//             new trial, however late. A seed of 0 leaves its choice to the search.
//   pause, resume, stop    any trial that was ever created; no effect where it has ended.
//   shutdown  what still runs is stopped, what still waits is dropped, and when all have exited the
//             search ends, as failed or canceled where the operation says so. Comes last.
// Trials start in the order of their posting, not more than max_concurrent_trials running: the rest
// wait. One that is stopped while it waits to be created exits as canceled.
//
// The search goes on until it is shut down, whatever its trials do.
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
  static constexpr size_t kMaxIdLength = 64;       // bytes, of a post's id and of a trial's
  static constexpr size_t kMostOperations = 1000;  // of a post
  // With more events unread, a validation takes the place of the one before it of its trial.
  static constexpr size_t kMostUnread = 10'000;

  struct Options {
    int64_t max_concurrent_trials = 16;  // 0: no limit
    std::vector<std::string> metrics;    // of the objectives, in order
  };
  explicit CustomSearch(Options options) : options_(std::move(options)) {}

  std::vector<Operation> Start(Context context) override;
  std::vector<Operation> OnTrialCreated(Context context, const TrialCreated& event) override;
  std::vector<Operation> OnReport(Context context, const Report& report) override;
  std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) override;
  // INVALID_ARGUMENT, naming the operation by its index, for what cannot be done.
  absl::StatusOr<std::vector<Operation>> OnPosted(Context context,
                                                  const OperationsPosted& event) override;
  std::vector<PendingEvent> PendingEvents(int64_t after, size_t most) const override;
  // Of the trials asked for so far, how many have ended.
  double Progress(const std::map<model::RequestId, double>& trial_progress) const override;
  Plan Preview(const model::SearchSpace& space) const override;  // unknown: nothing
  model::Value Snapshot() const override;
  absl::Status Restore(const model::Value& snapshot) override;

 private:
  enum class Wish { kRun, kPause, kStop };
  struct Trial {
    CreateTrial asked;   // as posted
    int64_t number = 0;  // of its random numbers
    Wish wish = Wish::kRun;
    bool started = false;  // CreateTrial was asked for
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
  // Starts who waits, as far as there is room; ends the search when that is due.
  std::vector<Operation> Continue(Context context);
  void Tell(model::Value::Object description);
  absl::Status RestoreTrial(const model::Value& saved);
  absl::Status RestoreEvents(const model::Value& snapshot);

  Options options_;
  std::map<model::RequestId, Trial> trials_;     // all there ever were
  std::deque<model::RequestId> waiting_;         // to be created or to go on, in order
  int64_t running_ = 0, live_ = 0, exited_ = 0;  // counts of trials; live: started, not exited
  std::deque<PendingEvent> events_;
  int64_t last_event_ = 0;
  std::deque<std::string> posts_;  // remembered ids, oldest first
  std::optional<Shutdown> shutdown_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_CUSTOM_H_
