// One bracket: a number of trials that are compared at rungs of growing length; at each rung the
// best 1/divisor are promoted. Three rules define when a trial at a rung is promoted or stopped:
//
//   kStop         immediately, compared with the n trials at the rung so far: if it is one of the
//                 best max(floor(n/divisor), 1), it continues; otherwise it is stopped. No trial
//                 waits, so the first one always continues. A trial with exactly the same loss as
//                 another continues only while fewer than that have continued, so that with a
//                 coarse metric and many equal losses no more than the best part continues.
//   kPromote      when the concurrency limit allows: a trial pauses at its rung, and the best
//                 paused one among the best floor(n/divisor) of its rung resumes, highest rung
//                 first; only then is a new trial created. When all were created and none runs, the
//                 best of each rung resumes even if n < divisor, so that one trial reaches the top;
//                 then the rest is stopped. (Li et al., "A System for Massively Parallel
//                 Hyperparameter Tuning", MLSys 2020, algorithm 2.)
//   kSynchronous  when all trials of the rung have arrived: the best max(floor(n/divisor), 1)
//                 continue, the rest is stopped. (Jamieson and Talwalkar, "Non-stochastic Best Arm
//                 Identification and Hyperparameter Optimization", AISTATS 2016.)
//
// A paused trial that can no longer be promoted, because too many are better, is stopped
// immediately. With several objectives, trials are compared by the first. A trial with an infinite
// loss never continues. A report beyond several rungs counts in each of them. At the top rung a
// trial is stopped.
//
// Trials that end by themselves:
//   completed  counts in its next rung with its last loss (infinite if it has none);
//   failed     is the worst in its next rung;
//   invalid    is removed from all its rungs and replaced, up to max_replacements; then as failed;
//   canceled   does not count in its next rung and is not replaced.
//
// A trial counts against the concurrency limit from CreateTrial or ResumeTrial to PauseTrial or its
// end. The owner of a Halving enforces the limit; see multi_bracket.h. PURE.
#ifndef MASTER_CORE_SEARCHER_HALVING_H_
#define MASTER_CORE_SEARCHER_HALVING_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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
    std::string prefix = "";  // prefix of the request ids of its trials; a number follows
  };
  struct Ends {
    int64_t completed = 0;
    int64_t failed = 0;
    int64_t canceled = 0;
    int64_t all() const { return completed + failed + canceled; }
  };

  explicit Halving(const Options& options);

  // Resumes or creates a trial; nullopt if none can start now.
  std::optional<Operation> StartNext(Context context, Sampler& sampler);
  int64_t running() const { return running_; }

  // `trial` is the number in its request id. Ignores trials that are not live or not running.
  std::vector<Operation> OnReport(int64_t trial, const Report& report);
  std::vector<Operation> OnExited(Context context, int64_t trial, TrialEnd end);

  bool done() const { return AllCreated() && live_.empty(); }
  const Ends& ends() const { return ends_; }
  const Options& options() const { return options_; }
  const Rungs& rungs() const { return rungs_; }

  // Returns its rungs with the trials that arrived at each.
  Bracket Describe() const;
  double Progress() const;
  std::vector<PlannedTrials> Preview() const;
  model::Value Snapshot() const;
  absl::Status Restore(const model::Value& snapshot);

 private:
  // kStopped counts as running until it ends; kStoppedInPause does not.
  enum class State { kRunning, kPaused, kStopped, kStoppedInPause };
  struct Trial {
    size_t rung = 0;  // its next rung; if paused or stopped, its current one
    State state = State::kRunning;
    double last_loss = 0;
  };
  using Live = std::map<int64_t, Trial>;

  bool AllCreated() const { return created_ - replaced_ >= options_.max_trials; }
  model::RequestId Request(int64_t trial) const;
  // Whether all trials were created and none is on its way to a rung.
  bool NoneArriving() const;
  // Returns the outcome of a trial that arrived at the rung.
  Outcome GetOutcome(size_t rung, int64_t trial) const;
  // Whether no more trials can arrive at the rung.
  bool IsClosed(size_t rung) const;
  // Returns how many trials of the rung may continue.
  int64_t Keep(size_t rung, bool at_least_one) const;
  // Returns the next paused trial to promote.
  std::optional<int64_t> Promotable() const;
  // Whether a trial continues by the stopping rule if `better` trials are better.
  bool Continues(size_t rung, double loss, int64_t better) const;
  // Records the arrival at its rungs; returns whether to stop the trial.
  bool Arrive(int64_t number, Trial& trial, const Report& report);
  void Advance(int64_t number, Trial& trial);
  // Stops paused trials that can no longer be promoted.
  void Settle(std::vector<Operation>& operations);
  void StopFrom(size_t rung, int64_t rank, std::vector<Operation>& operations);
  void CountEnd(Context context, int64_t number, const Trial& trial, TrialEnd end);
  absl::Status RestoreLive(const std::vector<double>& flat);

  Options options_;
  Rungs rungs_;
  int64_t created_ = 0;   // all trials
  int64_t replaced_ = 0;  // invalid ones among them that were replaced
  Ends ends_;
  Live live_;
  // The following members are derived from live_.
  int64_t running_ = 0;
  std::vector<int64_t> coming_;                 // running trials on their way to each rung
  std::vector<std::set<Rungs::Entry>> paused_;  // at each rung
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_HALVING_H_
