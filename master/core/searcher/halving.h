// One bracket: so many trials, compared at rungs of growing length; at each the best 1/divisor go
// on. Three rules say when a trial that has come to a rung is judged:
//
//   kStop         at once, by who has come so far: one of the best max(floor(n/divisor), 1) of the
//                 n there goes on, any other is stopped for good. Nobody waits, so that a first
//                 comer always goes on. A newcomer that is as good as another, to the last bit,
//                 goes on only while fewer than that have: where many are equal, as a coarse metric
//                 makes them, no more than the best part goes on.
//   kPromote      whenever a slot is free: a trial pauses at its rung, and the best paused one that
//                 is among the best floor(n/divisor) of its rung goes on, the highest rung first;
//                 only then is a new trial made. When all were made and none runs, the best of each
//                 rung goes on even where n < divisor, so that one trial comes to the top; then the
//                 rest is stopped. (Li et al., "A System for Massively Parallel Hyperparameter
//                 Tuning", MLSys 2020, algorithm 2.)
//   kSynchronous  when all of the rung have come: the best max(floor(n/divisor), 1) go on, the rest
//                 is stopped. (Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and
//                 Hyperparameter Optimization", AISTATS 2016.)
//
// A paused trial that so many are better than that it can never go on is stopped without delay.
// With several objectives trials are compared by the first. An infinite loss never goes on.
// A report beyond several rungs counts in each of them. At the top rung a trial is stopped.
//
// How trials end before they are told to:
//   completed  counts in the rung it was on its way to with its last loss (infinite, if none);
//   failed     is the worst there;
//   invalid    leaves all its rungs; another takes its place, up to max_replacements, then as
//   failed; canceled   is not counted there, and not replaced.
//
// A trial holds a slot from CreateTrial or ResumeTrial to PauseTrial or its end. Who owns a Halving
// hands out slots; see tournament.h. PURE.
#ifndef MASTER_CORE_SEARCHER_HALVING_H_
#define MASTER_CORE_SEARCHER_HALVING_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "master/core/searcher/rungs.h"
#include "master/core/searcher/sampler.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

class Halving {
 public:
  enum class Rule { kStop, kPromote, kSynchronous };
  struct Options {
    Rule rule = Rule::kStop;
    double divisor = 4;
    std::vector<int64_t> lengths;  // of the rungs, ascending
    int64_t max_trials = 1;        // 1 or more
    int64_t max_replacements = 0;
    std::string prefix = "";  // of its trials' request ids; a number follows
  };
  struct Ends {
    int64_t completed = 0;
    int64_t failed = 0;
    int64_t canceled = 0;
    int64_t all() const { return completed + failed + canceled; }
  };

  explicit Halving(const Options& options);

  // What it does with one more slot: resumes or creates a trial; nullopt: it has no use for it now.
  std::optional<Operation> TakeSlot(Context context, Sampler& sampler);
  int64_t slots() const { return slots_; }

  // `trial` is the number in its request id. Of a trial that is not live or not running: nothing.
  std::vector<Operation> OnReport(int64_t trial, const Report& report);
  std::vector<Operation> OnExited(Context context, int64_t trial, TrialEnd end);

  bool done() const { return AllCreated() && live_.empty(); }
  const Ends& ends() const { return ends_; }
  const Options& options() const { return options_; }
  const Rungs& rungs() const { return rungs_; }

  // Its rungs, and who came to each.
  Bracket Describe() const;
  double Progress() const;
  std::vector<PlannedTrials> Preview() const;
  model::Value Snapshot() const;
  absl::Status Restore(const model::Value& snapshot);

 private:
  // kStopped holds its slot until it ends; kStoppedInPause has none.
  enum class State { kRunning, kPaused, kStopped, kStoppedInPause };
  struct Trial {
    size_t rung = 0;  // on its way to it; when paused or stopped, at it
    State state = State::kRunning;
    double last_loss = 0;
  };
  using Live = std::map<int64_t, Trial>;

  bool AllCreated() const { return created_ - replaced_ >= options_.max_trials; }
  model::RequestId Request(int64_t trial) const;
  // All were created, and none is on its way to a rung.
  bool NobodyComes() const;
  // Of one that has come to the rung.
  Outcome OutcomeOf(size_t rung, int64_t trial) const;
  // All that can come to the rung have.
  bool IsClosed(size_t rung) const;
  // How many of the rung may go on.
  int64_t Keep(size_t rung, bool at_least_one) const;
  // The paused trial that is next to go on.
  std::optional<int64_t> Promotable() const;
  // By the stopping rule, of one that `better` are better than.
  bool GoesOn(size_t rung, double loss, int64_t better) const;
  // Counts it where it was on its way to, and says whether it is to be stopped.
  bool Arrive(int64_t number, Trial& trial, const Report& report);
  void Advance(int64_t number, Trial& trial);
  // Stops paused trials that will never go on.
  void Settle(std::vector<Operation>& operations);
  void StopFrom(size_t rung, int64_t rank, std::vector<Operation>& operations);
  void CountEnd(Context context, int64_t number, const Trial& trial, TrialEnd end);
  absl::Status RestoreLive(const std::vector<double>& flat);

  Options options_;
  Rungs rungs_;
  int64_t created_ = 0;   // all that were ever asked for
  int64_t replaced_ = 0;  // of these, invalid ones that another took the place of
  Ends ends_;
  Live live_;
  // All that follows is derived from live_.
  int64_t slots_ = 0;
  std::vector<int64_t> coming_;                 // to each rung, running
  std::vector<std::set<Rungs::Entry>> paused_;  // at each rung
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_HALVING_H_
