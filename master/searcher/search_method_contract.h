// What every search method must keep, as a suite: instantiate SearchMethodContract with a case per
// configuration. The world around the method is a hostile one: late, repeated and missing events,
// NaN and infinite metrics, trials that end in any way. Every failure names its seed.
#ifndef MASTER_SEARCHER_SEARCH_METHOD_CONTRACT_H_
#define MASTER_SEARCHER_SEARCH_METHOD_CONTRACT_H_

#include <cmath>
#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/rng.h"
#include "master/searcher/searcher.h"
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

  // How likely (of 100) an exit is of this kind; the rest completes.
  int failed = 15, invalid = 15, canceled = 5;
  std::vector<Step> history;
  std::vector<model::Value> snapshots;  // before each step, and after the last

  void Play(Searcher& searcher) {
    Take(searcher.Start());
    for (int i = 0; i < 100'000 && !shut_down_; ++i) {
      ASSERT_FALSE(live_.empty()) << "nothing runs and the search has not ended";
      const Event event = Next();
      snapshots.push_back(searcher.Snapshot());
      history.push_back({event, searcher.Handle(event)});
      Take(history.back().operations);
    }
    ASSERT_TRUE(shut_down_) << "no end in sight";
    snapshots.push_back(searcher.Snapshot());
    EXPECT_TRUE(searcher.shut_down());
    EXPECT_EQ(searcher.Progress(), 1);
    for (const model::RequestId& id : asked_) {
      EXPECT_TRUE(searcher.Handle(TrialExited{id, TrialEnd::kFailed}).empty());
    }
  }

 private:
  void Take(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      EXPECT_FALSE(shut_down_) << "asked for more after Shutdown";
      if (const auto* create = std::get_if<CreateTrial>(&operation)) {
        EXPECT_TRUE(asked_.insert(create->request).second) << create->request;
        live_.push_back(create->request);
        running_.insert(create->request);
        EXPECT_EQ(create->hparams.size(), case_.config.hyperparameters.size());
      } else if (const auto* stop = std::get_if<StopTrial>(&operation)) {
        EXPECT_TRUE(asked_.contains(stop->request)) << stop->request;
      } else if (const auto* pause = std::get_if<PauseTrial>(&operation)) {
        EXPECT_EQ(running_.erase(pause->request), 1u) << pause->request;
      } else if (const auto* resume = std::get_if<ResumeTrial>(&operation)) {
        EXPECT_TRUE(running_.insert(resume->request).second) << resume->request;
      } else {
        shut_down_ = true;
      }
    }
    EXPECT_LE(static_cast<int64_t>(asked_.size()), case_.budget);
    const int64_t limit = case_.config.searcher.max_concurrent_trials;
    EXPECT_TRUE(limit == 0 || static_cast<int64_t>(running_.size()) <= limit) << running_.size();
  }

  template <class Container>
  auto Pick(const Container& from) {
    return *std::next(from.begin(), rng_.UniformInt(0, static_cast<int64_t>(from.size()) - 1));
  }

  double Metric() {
    const double inf = std::numeric_limits<double>::infinity();
    return Pick(std::vector<double>{rng_.Uniform01(), rng_.Normal(), 0.0, std::nan(""), inf, -inf,
                                    std::numeric_limits<double>::max()});
  }

  ValidationReported Validation(const model::RequestId& request) {
    ValidationReported report{request, rng_.UniformInt(0, 1000), 0, {}};
    report.length = static_cast<double>(report.steps_completed) / 2;
    for (size_t i = 0; i < model::Objectives(case_.config.searcher).size(); ++i) {
      report.metrics.push_back(Metric());
    }
    if (rng_.UniformInt(0, 9) == 0) report.metrics.clear();
    return report;
  }

  Event Next() {
    switch (rng_.UniformInt(0, 5)) {
      case 0:
        return TrialCreated{Pick(asked_)};  // often repeated, sometimes for a trial that is over
      case 1:
        return Validation(Pick(asked_));
      case 2:
        return TrialExited{model::RequestId("never asked for"), TrialEnd::kFailed};
      case 3:
        return Validation(Pick(live_));
      default:
        return Exit();
    }
  }

  Event Exit() {
    const model::RequestId id = Pick(live_);
    std::erase(live_, id);
    running_.erase(id);
    const int64_t dice = rng_.UniformInt(0, 99);
    if (dice < failed) return TrialExited{id, TrialEnd::kFailed};
    if (dice < failed + invalid) return TrialExited{id, TrialEnd::kInvalidHp};
    if (dice < failed + invalid + canceled) return TrialExited{id, TrialEnd::kCanceled};
    return TrialExited{id, TrialEnd::kCompleted};
  }

  const ContractCase& case_;
  base::Rng rng_;
  std::set<model::RequestId> asked_;
  std::vector<model::RequestId> live_;
  std::set<model::RequestId> running_;  // live, and not paused
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

#endif  // MASTER_SEARCHER_SEARCH_METHOD_CONTRACT_H_
