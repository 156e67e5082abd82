// The contract test suite of search methods: instantiate SearchMethodContract with a case per
// configuration. The simulated environment is hostile: late, repeated and missing events, NaN and
// infinite metrics, trials that end in any way. Every failure reports its seed.
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
  int64_t budget = 1;  // maximum number of trials, replacements included
  friend void PrintTo(const ContractCase& c, std::ostream* out) { *out << c.name; }
};

struct Step {
  Event event;
  std::vector<Operation> operations;
};

// Simulates the trials of one search to its end and checks every operation.
class HostileWorld {
 public:
  HostileWorld(const ContractCase& c, uint64_t seed) : case_(c), rng_(seed) {}

  enum class Trials {
    kMixed,     // report, and end in any way, at any time
    kSilent,    // end without a report
    kObedient,  // end when stopped and at the maximum length, otherwise continue
  };
  Trials trials = Trials::kMixed;
  // Percentage of exits of each kind; the rest completes.
  int failed = 15;
  int invalid = 15;
  int canceled = 5;
  bool keep_snapshots = false;

  std::vector<Step> history;
  std::vector<model::Value> snapshots;  // before each step, and after the last

  void Play(Searcher& searcher);

 private:
  // A trial that was created and has not ended.
  struct Trial {
    bool paused = false;
    bool stopped = false;
    int64_t steps = 0;  // as last reported
  };
  using Live = std::map<model::RequestId, Trial>;

  // Applies the operations and checks that they are allowed.
  void Take(const std::vector<Operation>& operations);
  void Create(const CreateTrial& create);
  // Checks that arrivals match the counts, each once, and that no stopped trial is reported as
  // waiting.
  void CheckBrackets(const std::vector<Bracket>& brackets) const;
  int64_t Running() const;
  bool CanProgress() const;

  Event Next();
  Event Exit();
  // Returns a random live trial of this kind; nullptr if there is none.
  const Live::value_type* Pick(const std::function<bool(const Trial&)>& which);
  bool MayEnd(const Trial& trial) const;
  // A validation of any trial that was ever created, at any length.
  Event WildValidation();
  // A validation of a running trial, longer than the last one.
  Event NextValidation(const model::RequestId& request);
  std::vector<double> Metrics();
  double Metric();
  int64_t MaxLength() const;

  const ContractCase& case_;
  base::Rng rng_;
  std::set<model::RequestId> requests_;
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
