// What every search method must keep, as a suite: instantiate SearchMethodContract with a case per
// configuration. The world around the method is a hostile one: late, repeated and missing events,
// NaN and infinite metrics, trials that end in any way. Every failure names its seed.
#ifndef MASTER_CORE_SEARCHER_SEARCH_METHOD_CONTRACT_H_
#define MASTER_CORE_SEARCHER_SEARCH_METHOD_CONTRACT_H_

#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "master/core/searcher/searcher.h"
#include <gtest/gtest.h>

namespace det::searcher {

struct ContractCase {
  std::string name;
  model::ExperimentConfig config;
  int64_t budget = 1;  // trials ever asked for, replacements included
  friend void PrintTo(const ContractCase& c, std::ostream* out) { *out << c.name; }
};

struct Step {
  Event event;
  std::vector<Operation> operations;
};

// Plays the trials of one search to its end and checks every operation.
class HostileWorld {
 public:
  HostileWorld(const ContractCase& c, uint64_t seed) : case_(c), rng_(seed) {}

  enum class Trials {
    kMixed,     // report, and end in any way, at any time
    kSilent,    // end without a report
    kObedient,  // end when told to and at the maximum length, otherwise go on
  };
  Trials trials = Trials::kMixed;
  // How likely (of 100) an exit is of this kind; the rest completes.
  int failed = 15, invalid = 15, canceled = 5;
  bool keep_snapshots = false;

  std::vector<Step> history;
  std::vector<model::Value> snapshots;  // before each step, and after the last

  void Play(Searcher& searcher);

 private:
  // One that was asked for and has not ended.
  struct Trial {
    bool paused = false;
    bool stopped = false;
    int64_t steps = 0;  // as last reported
  };
  using Live = std::map<model::RequestId, Trial>;

  // Takes what is asked for, and checks that it may be.
  void Take(const std::vector<Operation>& operations);
  void Create(const CreateTrial& create);
  // That they name who is counted, once each, and that nobody is said to wait who was stopped.
  void CheckBrackets(const std::vector<Bracket>& brackets) const;
  int64_t Running() const;
  bool SomebodyMoves() const;

  Event Next();
  Event Exit();
  // A live trial of this kind; nullptr: there is none.
  const Live::value_type* Pick(const std::function<bool(const Trial&)>& which);
  bool MayEnd(const Trial& trial) const;
  // Of any trial ever asked for, at any length.
  Event WildValidation();
  // Of a running trial, further than before.
  Event NextValidation(const model::RequestId& request);
  std::vector<double> Metrics();
  double Metric();
  int64_t MaxLength() const;

  const ContractCase& case_;
  base::Rng rng_;
  std::set<model::RequestId> asked_;
  Live live_;
  bool shut_down_ = false;
};

class SearchMethodContract : public ::testing::TestWithParam<ContractCase> {
 protected:
  static constexpr uint64_t kSeeds = 100;

  Searcher Make() {
    auto searcher = Searcher::Make(GetParam().config);
    EXPECT_TRUE(searcher.ok()) << searcher.status();
    return *std::move(searcher);
  }
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SEARCH_METHOD_CONTRACT_H_
