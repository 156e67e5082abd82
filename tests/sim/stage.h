// The context of one history: virtual time, random numbers from one seed, and the first failure.
// All parts of a simulation hold a reference to its stage.
//
// Single-threaded; does not sleep.
#ifndef TESTS_SIM_STAGE_H_
#define TESTS_SIM_STAGE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/rng.h"

namespace det::sim {

// Numbers of events, to check that the simulation exercises what it should.
struct Counts {
  int events = 0;
  int commits = 0;
  int crashes = 0;          // of masters
  int takeovers = 0;        // by another master
  int outages = 0;          // of the database
  int lost_acknowledgements = 0;  // acknowledgements of successful commits
  int refused_commits = 0;  // each ends a master
  int clocks_set = 0;       // of masters
  int broken_streams = 0;
  int refused_streams = 0;  // by a master whose database is unavailable
  int late_calls = 0;       // of trials, overtaken by others
  int repeated_calls = 0;
  int reboots = 0;  // of machines
  int agent_crashes = 0;
  int adoptions = 0;     // of tasks, by the next agent
  int adopted_ends = 0;  // of tasks that had ended in the meantime
  int lost_agents = 0;
  int double_creations = 0;
  int preemptions = 0;
  int holds = 0;      // posts that pause a trial
  int restarts = 0;   // of trials
  int compared = 0;   // searches compared with an undisturbed history
  int completed = 0;  // experiments, by their end
  int canceled = 0;
  int failed = 0;
  int tasks_completed = 0;  // tasks that are not trials, by their end
  int tasks_canceled = 0;
  int tasks_failed = 0;
};

// All counts, by name.
struct CountField {
  const char* name;
  int Counts::*field;
};
inline constexpr CountField kCountFields[] = {
    {"events", &Counts::events},
    {"commits", &Counts::commits},
    {"masters crashed", &Counts::crashes},
    {"takeovers", &Counts::takeovers},
    {"database outages", &Counts::outages},
    {"lost commit acknowledgements", &Counts::lost_acknowledgements},
    {"rejected commits", &Counts::refused_commits},
    {"clocks set", &Counts::clocks_set},
    {"broken streams", &Counts::broken_streams},
    {"rejected streams", &Counts::refused_streams},
    {"late calls", &Counts::late_calls},
    {"repeated calls", &Counts::repeated_calls},
    {"reboots", &Counts::reboots},
    {"agents crashed", &Counts::agent_crashes},
    {"reattached tasks", &Counts::adoptions},
    {"tasks reattached after their end", &Counts::adopted_ends},
    {"lost agents", &Counts::lost_agents},
    {"double creations", &Counts::double_creations},
    {"preemptions", &Counts::preemptions},
    {"holds", &Counts::holds},
    {"restarts", &Counts::restarts},
    {"searches compared", &Counts::compared},
    {"experiments completed", &Counts::completed},
    {"experiments canceled", &Counts::canceled},
    {"experiments failed", &Counts::failed},
    {"tasks completed", &Counts::tasks_completed},
    {"tasks canceled", &Counts::tasks_canceled},
    {"tasks failed", &Counts::tasks_failed},
};

class Stage {
 public:
  explicit Stage(uint64_t seed, bool verbose) : rng_(seed), verbose_(verbose) {}

  absl::Time now() const { return now_; }
  void After(absl::Duration delay, std::function<void()> act);
  // Runs the next action. Returns false if none is left or a check failed.
  bool Step();

  bool Chance(double probability) { return rng_.Uniform01() < probability; }
  // A unique number.
  int64_t NextNumber() { return ++last_number_; }
  // Chance(), but false after the faults have stopped.
  bool Fault(double probability) { return Chance(probability) && !calm; }
  int64_t Pick(int64_t lo, int64_t hi) { return rng_.UniformInt(lo, hi); }
  absl::Duration Ms(int64_t lo, int64_t hi) { return absl::Milliseconds(Pick(lo, hi)); }

  // Records the failure; only the first one is kept.
  void Fail(const std::string& what);
  void Check(const absl::Status& status);
  const absl::Status& status() const { return status_; }
  // Prints a line of the history if `verbose` is set.
  void Log(const std::string& what) const;

  // A digest of the times of all actions, which identifies the history of a seed.
  uint64_t Digest() const { return digest_; }

  bool calm = false;
  Counts counts;

 private:
  std::string Clock() const;

  base::Rng rng_;
  const bool verbose_;
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  const absl::Time start_ = now_;
  std::multimap<absl::Time, std::function<void()>> agenda_;
  absl::Status status_;
  int64_t last_number_ = 0;
  uint64_t digest_ = 0;
};

}  // namespace det::sim

#endif  // TESTS_SIM_STAGE_H_
