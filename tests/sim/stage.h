// Where one history is played: virtual time, chance from one seed, and the first thing that went
// wrong. Everything of a simulation holds a reference to its stage.
//
// Single-threaded; nothing sleeps.
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

// How much happened, to see that a seed exercises what it should.
struct Counts {
  int events = 0;
  int commits = 0;
  int crashes = 0;          // of masters
  int takeovers = 0;        // by another master
  int outages = 0;          // of the database
  int lost_answers = 0;     // of commits that went through
  int refused_commits = 0;  // each ends a master
  int clocks_set = 0;       // of masters
  int broken_streams = 0;
  int refused_streams = 0;  // by a master whose database is away
  int late_calls = 0;       // of trials, overtaken by others
  int repeated_calls = 0;
  int reboots = 0;  // of machines
  int agent_crashes = 0;
  int adoptions = 0;     // of tasks, by the next agent
  int adopted_ends = 0;  // of these had ended meanwhile
  int lost_agents = 0;
  int double_creations = 0;
  int preemptions = 0;
  int holds = 0;      // posts that hold a trial
  int restarts = 0;   // of trials
  int compared = 0;   // searches, with an undisturbed history
  int completed = 0;  // experiments, by their end
  int canceled = 0;
  int failed = 0;
};

// All of them, by name.
struct CountField {
  const char* name;
  int Counts::*field;
};
inline constexpr CountField kCountFields[] = {
    {"events", &Counts::events},
    {"commits", &Counts::commits},
    {"masters crashed", &Counts::crashes},
    {"take-overs", &Counts::takeovers},
    {"outages of the database", &Counts::outages},
    {"lost answers of commits", &Counts::lost_answers},
    {"refused commits", &Counts::refused_commits},
    {"clocks set", &Counts::clocks_set},
    {"broken streams", &Counts::broken_streams},
    {"refused streams", &Counts::refused_streams},
    {"late calls", &Counts::late_calls},
    {"repeated calls", &Counts::repeated_calls},
    {"reboots", &Counts::reboots},
    {"agents crashed", &Counts::agent_crashes},
    {"tasks taken up", &Counts::adoptions},
    {"tasks taken up after their end", &Counts::adopted_ends},
    {"lost agents", &Counts::lost_agents},
    {"double creations", &Counts::double_creations},
    {"preemptions", &Counts::preemptions},
    {"holds", &Counts::holds},
    {"restarts", &Counts::restarts},
    {"searches compared", &Counts::compared},
    {"experiments completed", &Counts::completed},
    {"experiments canceled", &Counts::canceled},
    {"experiments failed", &Counts::failed},
};

class Stage {
 public:
  explicit Stage(uint64_t seed, bool verbose) : rng_(seed), verbose_(verbose) {}

  absl::Time now() const { return now_; }
  void After(absl::Duration delay, std::function<void()> act);
  // Lets the next thing happen; false when nothing is left or something went wrong.
  bool Step();

  bool Chance(double probability) { return rng_.Uniform01() < probability; }
  // Never the same twice.
  int64_t NextNumber() { return ++last_number_; }
  // Something that only happens until the faults stop.
  bool Fault(double probability) { return Chance(probability) && !calm; }
  int64_t Pick(int64_t lo, int64_t hi) { return rng_.UniformInt(lo, hi); }
  absl::Duration Ms(int64_t lo, int64_t hi) { return absl::Milliseconds(Pick(lo, hi)); }

  // The first failure counts.
  void Fail(const std::string& what);
  void Check(const absl::Status& status);
  const absl::Status& status() const { return status_; }
  // A line of the history, printed when it was asked for.
  void Note(const std::string& what) const;

  // The same for the same seed, and for no other: a digest of when everything happened.
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
