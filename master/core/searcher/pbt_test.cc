#include "master/core/searcher/pbt.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/rng.h"
#include "master/core/searcher/search_method_contract.h"
#include "master/core/searcher/searcher.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::ConstHparam;
using model::DoubleHparam;
using model::IntHparam;
using model::LogHparam;
using model::NestedHparam;
using model::RequestId;
using model::SearchSpace;
using model::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

model::ExperimentConfig Config(model::PopulationConfig population, int64_t max_length,
                               int64_t concurrent,
                               SearchSpace space = {{"lr", {LogHparam{10, -4, 0, {}}}}}) {
  model::ExperimentConfig config;
  config.searcher = {.name = "pbt",
                     .metric = "loss",
                     .max_time = max_length,
                     .max_concurrent_trials = concurrent,
                     .population = population};
  config.hyperparameters = std::move(space);
  config.experiment_seed = 42;
  return config;
}

SearchSpace WideSpace() {
  return {
      {"constant", {ConstHparam{Value::List{1, "two"}}}},
      {"layers", {IntHparam{-2, 2, {}}}},
      {"dropout", {DoubleHparam{0.2, 0.8, {}}}},
      {"lr", {LogHparam{10, -4, -1, {}}}},
      {"optimizer", {CategoricalHparam{{"adam", "sgd", Value::Object{{"name", "lion"}}}}}},
      {"nested", {NestedHparam{{{"width", {IntHparam{1, 8, {}}}}, {"none", {NestedHparam{}}}}}}}};
}

model::ExperimentConfig TwoObjectives() {
  model::ExperimentConfig config = Config({.size = 6, .generations = 3}, 300, 4, WideSpace());
  config.searcher.other_objectives = {{"accuracy", false}};
  return config;
}

INSTANTIATE_TEST_SUITE_P(
    Population, SearchMethodContract,
    ::testing::Values(
        ContractCase{"of_8_at_3", Config({.size = 8, .generations = 4}, 200, 3, WideSpace()),
                     8 * 4 + 16},
        ContractCase{"of_10_unlimited", Config({.size = 10, .generations = 3}, 100, 0, WideSpace()),
                     10 * 3 + 16},
        ContractCase{"of_4_alone_at_a_time",
                     Config({.size = 4, .generations = 8, .replaced_fraction = 0.5}, 40, 1),
                     4 * 8 + 16},
        ContractCase{"of_1", Config({.size = 1, .generations = 3}, 100, 16), 1 * 3 + 16},
        ContractCase{"one_generation", Config({.size = 5, .generations = 1}, 100, 2), 5 + 16},
        ContractCase{"single_point", Config({.size = 5, .generations = 3}, 100, 2, {}), 5 * 3},
        ContractCase{"nothing_replaced",
                     Config({.size = 5, .generations = 3, .replaced_fraction = 0}, 300, 2),
                     5 * 3 + 16},
        ContractCase{"two_objectives", TwoObjectives(), 6 * 3 + 16}),
    [](const auto& info) { return info.param.name; });

// ---- one step at a time ----

class PopulationTest : public ::testing::Test {
 protected:
  void Make(model::PopulationConfig population, int64_t max_length, int64_t concurrent = 0) {
    Make(Config(population, max_length, concurrent));
  }
  void Make(const model::ExperimentConfig& config) {
    searcher_.emplace(*Searcher::Make(config));
    Take(searcher_->Start());
  }

  // Each function returns the resulting operations as text.
  std::string Report(const std::string& trial, double length, std::vector<double> metrics) {
    return Take(searcher_->Handle(
        ValidationReported{RequestId(trial), ++steps_, length, std::move(metrics)}));
  }
  std::string Report(const std::string& trial, double length, double loss) {
    return Report(trial, length, std::vector<double>{loss});
  }
  std::string Exit(const std::string& trial, TrialEnd end = TrialEnd::kCompleted) {
    return Take(searcher_->Handle(TrialExited{RequestId(trial), end}));
  }

  std::vector<int64_t> Lengths(const std::string& trial) {
    return searcher_->ReportLengths(RequestId(trial));
  }
  double Lr(const std::string& trial) {
    return *created_.at(RequestId(trial)).hparams.at("lr").AsDouble();
  }

  std::string Take(const std::vector<Operation>& operations) {
    std::string text;
    for (const Operation& operation : operations) {
      if (!text.empty()) text += ", ";
      if (const auto* create = std::get_if<CreateTrial>(&operation)) {
        created_.emplace(create->request, *create);
        text += "create " + create->request.value();
        if (create->parent) text += " from " + create->parent->value();
      } else if (const auto* stop = std::get_if<StopTrial>(&operation)) {
        text += "stop " + stop->request.value();
      } else if (const auto* pause = std::get_if<PauseTrial>(&operation)) {
        text += "pause " + pause->request.value();
      } else if (const auto* resume = std::get_if<ResumeTrial>(&operation)) {
        text += "resume " + resume->request.value();
      } else {
        const auto& shutdown = std::get<Shutdown>(operation);
        text += shutdown.failed ? "failed" : shutdown.canceled ? "canceled" : "shutdown";
      }
    }
    return text;
  }

  std::optional<Searcher> searcher_;
  std::map<RequestId, CreateTrial> created_;
  int64_t steps_ = 0;
};

TEST_F(PopulationTest, ReplacesWorstWithChildOfBest) {
  Make({.size = 4, .generations = 2, .resample_probability = 0, .perturb_factor = 2}, 10);
  EXPECT_EQ(created_.size(), 4u);
  EXPECT_THAT(Lengths("1"), ElementsAre(5, 10));
  EXPECT_EQ(Report("1", 3, 0.1), "") << "below the end of its generation";
  EXPECT_EQ(Report("1", 5, 0.4), "pause 1");
  EXPECT_EQ(Report("2", 5, 0.2), "pause 2");
  EXPECT_EQ(Report("3", 5, 0.9), "pause 3");
  EXPECT_DOUBLE_EQ(searcher_->Progress(), 3.0 / 8);
  EXPECT_EQ(Report("4", 6, 0.3), "pause 4, stop 3, create 5 from 2, resume 2, resume 4, resume 1");
  EXPECT_TRUE(Lr("5") == std::max(Lr("2") / 2, 1e-4) || Lr("5") == std::min(Lr("2") * 2, 1.0));
  EXPECT_THAT(Lengths("5"), ElementsAre(5)) << "its parent has trained 5 before it";
  EXPECT_EQ(Report("5", 5, 0.5), "stop 5");
  EXPECT_EQ(Report("2", 10, 0.1), "stop 2");
  EXPECT_EQ(Report("1", 9, 0.1), "");
  EXPECT_EQ(Exit("3"), "");
  EXPECT_EQ(Exit("2"), "");
  EXPECT_EQ(Exit("1"), "") << "it ended by itself in the last generation";
  EXPECT_EQ(Exit("4", TrialEnd::kFailed), "") << "not replaced in the last generation";
  EXPECT_EQ(Exit("5"), "shutdown");
}

TEST_F(PopulationTest, ReportsGenerationsAsRungs) {
  Make({.size = 4, .generations = 3}, 10);
  for (const auto& [trial, loss] : {std::pair("1", 0.4), {"2", 0.2}, {"3", 0.9}, {"4", 0.3}}) {
    Report(trial, 3, loss);
  }
  Report("2", 6, 0.15);
  const std::vector<Bracket> brackets = searcher_->Brackets();
  ASSERT_EQ(brackets.size(), 1u);
  ASSERT_EQ(brackets[0].size(), 3u);
  const auto row = [&brackets](size_t i) {
    const Rung& rung = brackets[0][i];
    return std::tuple(rung.length, rung.reported, rung.continued, rung.best_loss);
  };
  EXPECT_EQ(row(0), std::tuple(3.0, 4, 3, std::optional(0.2)));
  EXPECT_EQ(row(1), std::tuple(6.0, 1, 0, std::optional(0.15)));
  EXPECT_EQ(row(2), std::tuple(10.0, 0, 0, std::optional<double>()));
  const auto at = [](const char* request, double loss, Outcome outcome) {
    return Arrival{model::RequestId(request), loss, outcome};
  };
  EXPECT_EQ(brackets[0][0].arrivals,
            (std::vector{at("2", 0.2, Outcome::kContinued), at("4", 0.3, Outcome::kContinued),
                         at("1", 0.4, Outcome::kContinued), at("3", 0.9, Outcome::kStopped)}));
  EXPECT_EQ(brackets[0][1].arrivals, (std::vector{at("2", 0.15, Outcome::kWaiting)}));
}

TEST_F(PopulationTest, StartsChildrenBeforeParentResumes) {
  Make({.size = 3, .generations = 2}, 10, 1);
  EXPECT_EQ(Report("1", 5, 0.1), "pause 1, create 2");
  EXPECT_EQ(Report("2", 5, 0.2), "pause 2, create 3");
  EXPECT_EQ(Report("3", 5, 0.3), "pause 3, stop 3, create 4 from 1");
  EXPECT_EQ(Exit("3"), "");
  EXPECT_EQ(Report("4", 5, 0.1), "stop 4");
  EXPECT_EQ(Exit("4"), "resume 1") << "until then it holds its slots";
  EXPECT_EQ(Report("1", 10, 0.1), "stop 1");
  EXPECT_EQ(Exit("1"), "resume 2");
  EXPECT_EQ(Exit("2"), "shutdown");
}

TEST_F(PopulationTest, UsesParentsInTurn) {
  Make({.size = 6, .generations = 2, .replaced_fraction = 0.5}, 10);
  for (const auto& [trial, loss] :
       {std::pair("1", 0.6), {"2", 0.5}, {"3", 0.4}, {"4", 0.3}, {"5", 0.2}}) {
    Report(trial, 5, loss);
  }
  EXPECT_EQ(Report("6", 5, 0.1),
            "pause 6, stop 3, stop 2, stop 1, create 7 from 6, create 8 from 5, create 9 from 4, "
            "resume 6, resume 5, resume 4");
}

TEST_F(PopulationTest, RanksCompletedMembersAndReplacesThem) {
  Make({.size = 2, .generations = 2, .replaced_fraction = 0}, 10);
  Report("1", 2, 0.1);
  EXPECT_EQ(Exit("1"), "");
  EXPECT_EQ(Report("2", 5, 0.2), "pause 2, create 3 from 1, resume 2");
}

TEST_F(PopulationTest, ReplacesFailedMember) {
  Make({.size = 4, .generations = 2}, 10);
  Report("1", 5, 0.0);
  EXPECT_EQ(Exit("1", TrialEnd::kFailed), "") << "although it was the best";
  Report("2", 5, 0.3);
  Report("3", 5, 0.2);
  EXPECT_EQ(Report("4", 5, 0.9), "pause 4, create 5 from 3, resume 3, resume 2, resume 4")
      << "the failed member is the worst quarter";
}

TEST_F(PopulationTest, ResamplesInvalidMembersInFirstGeneration) {
  Make({.size = 2, .generations = 3}, 9);
  EXPECT_EQ(Exit("1", TrialEnd::kInvalidHp), "create 3");
  Report("2", 3, 0.1);
  EXPECT_EQ(Report("3", 3, 0.2), "pause 3, stop 3, create 4 from 2, resume 2");
  EXPECT_EQ(Exit("4", TrialEnd::kInvalidHp), "");
  EXPECT_EQ(Report("2", 6, 0.1), "pause 2, create 5 from 2, resume 2");
}

TEST_F(PopulationTest, LimitsReplacementsOfInvalidMembers) {
  Make({.size = 1, .generations = 3}, 9);
  for (int i = 1; i <= 16; ++i) {
    EXPECT_EQ(Exit(std::to_string(i), TrialEnd::kInvalidHp), "create " + std::to_string(i + 1));
  }
  EXPECT_EQ(Exit("17", TrialEnd::kInvalidHp), "failed");
}

TEST_F(PopulationTest, DoesNotReplaceCanceledMember) {
  Make({.size = 3, .generations = 2, .replaced_fraction = 0}, 10);
  Report("1", 5, 0.1);
  Report("2", 5, 0.1);
  EXPECT_EQ(Exit("3", TrialEnd::kCanceled), "resume 1, resume 2") << "no other member is missing";
  EXPECT_EQ(Exit("1", TrialEnd::kCanceled), "");
  EXPECT_EQ(Exit("2", TrialEnd::kCanceled), "canceled");
}

TEST_F(PopulationTest, EndsWhenNoMemberSurvives) {
  Make({.size = 2, .generations = 3}, 9);
  Report("1", 3, 0.1);
  EXPECT_EQ(Report("2", 3, 0.2), "pause 2, stop 2, create 3 from 1, resume 1");
  EXPECT_EQ(Exit("1", TrialEnd::kFailed), "");
  EXPECT_EQ(Exit("3", TrialEnd::kFailed), "") << "the replaced member has not ended yet";
  EXPECT_EQ(Exit("2"), "shutdown") << "one trial has completed";
}

TEST_F(PopulationTest, RanksNonFiniteLossesLast) {
  Make({.size = 4, .generations = 2, .replaced_fraction = 0.5}, 10);
  Report("1", 5, std::nan(""));
  Report("2", 5, -std::numeric_limits<double>::infinity());
  Report("3", 5, std::nan(""));
  EXPECT_EQ(Report("4", 5, 0.9),
            "pause 4, stop 1, stop 2, stop 3, create 5 from 4, create 6 from 4, create 7 from 4, "
            "resume 4");
}

TEST_F(PopulationTest, Continues_WhenAllLossesAreInfinite) {
  Make({.size = 2, .generations = 2}, 10);
  Report("1", 5, std::nan(""));
  EXPECT_EQ(Report("2", 5, std::nan("")), "pause 2, stop 2, create 3 from 1, resume 1");
}

TEST_F(PopulationTest, CountsLateReportForAllPassedGenerations) {
  Make({.size = 2, .generations = 3, .replaced_fraction = 0}, 9);
  EXPECT_EQ(Report("1", 7, 0.1), "pause 1");
  EXPECT_EQ(Report("2", 3, 0.2), "pause 2, resume 2") << "1 has passed the second generation";
  EXPECT_EQ(Report("2", 6, 0.2), "pause 2, resume 1, resume 2");
  EXPECT_EQ(Report("2", 9, 0.2), "stop 2");

  Make({.size = 2, .generations = 3, .replaced_fraction = 0}, 9);
  Report("1", 9, 0.1);
  EXPECT_EQ(Report("2", 100, 0.2), "pause 2, stop 1, stop 2");
  Exit("1");
  EXPECT_EQ(Exit("2"), "shutdown");
}

TEST_F(PopulationTest, DividesLengthExactly) {
  Make({.size = 1, .generations = 4}, 10);
  EXPECT_THAT(Lengths("1"), ElementsAre(2, 5, 7, 10));
  Make({.size = 1, .generations = 8}, 3);
  EXPECT_THAT(Lengths("1"), ElementsAre(1, 2, 3)) << "a generation trains at least one unit";
  const int64_t huge = std::numeric_limits<int64_t>::max();
  Make({.size = 1, .generations = 3}, huge);
  EXPECT_THAT(Lengths("1"), ElementsAre(huge / 3, huge / 3 * 2, huge));
  EXPECT_THAT(Lengths("never created"), IsEmpty());
}

TEST_F(PopulationTest, RanksByParetoFront_WithSeveralObjectives) {
  model::ExperimentConfig config = Config({.size = 4, .generations = 2}, 10, 0);
  config.searcher.other_objectives = {{"accuracy", false}};
  Make(config);
  Report("1", 5, {0.1, 0.5});
  Report("2", 5, {0.2, 0.1});
  Report("3", 5, {0.3, 0.9});
  EXPECT_EQ(Report("4", 5, {0.15, 0.3}),
            "pause 4, stop 2, create 5 from 1, resume 1, resume 3, resume 4");
}

TEST_F(PopulationTest, PlansTotalWork) {
  Make({.size = 4, .generations = 3}, 90);
  EXPECT_EQ(searcher_->Preview(), (Plan{{{.trials = 4, .length = 90}}}));
}

TEST(PopulationConfigTest, RequiresLength) {
  model::ExperimentConfig config = Config({}, 1, 1);
  config.searcher.max_time.reset();
  EXPECT_EQ(Searcher::Make(config).status().message(),
            "pbt compares trials at lengths; set searcher.max_length or searcher.max_time");
}

// ---- whole searches without failures ----

// Simulates a search in which every trial reports at each required length, one unit at a time, in
// any order. `quality` is the state of a checkpoint: it grows with the closeness of the learning
// rate to the best one, which decreases during training.
class CalmWorld {
 public:
  CalmWorld(const model::ExperimentConfig& config, uint64_t seed)
      : config_(config), searcher_(*Searcher::Make(config)), rng_(seed) {}

  double best = -1;
  int64_t units = 0;
  int64_t created = 0;
  size_t most_at_once = 0;

  void Play() {
    Take(searcher_.Start());
    while (!searcher_.shut_down()) {
      std::vector<RequestId> active;
      for (const auto& [id, trial] : trials_) {
        if (trial.state == kRunning || trial.state == kStopped) active.push_back(id);
      }
      ASSERT_FALSE(active.empty()) << "no trial is running and the search has not ended";
      Advance(
          active[static_cast<size_t>(rng_.UniformInt(0, static_cast<int64_t>(active.size()) - 1))]);
    }
  }

 private:
  enum State { kRunning, kPaused, kStopped, kOver };
  struct Trial {
    State state = kRunning;
    double lr = 0;
    int64_t before = 0, length = 0;  // of its ancestors, of its own
    double quality = 0;
  };

  void Advance(const RequestId& id) {
    Trial& trial = trials_.at(id);
    if (trial.state == kStopped) {
      trial.state = kOver;
      Take(searcher_.Handle(TrialExited{id, TrialEnd::kCompleted}));
      return;
    }
    ++units;
    ++trial.length;
    const double done = static_cast<double>(trial.before + trial.length) /
                        static_cast<double>(model::MaxLength(config_.searcher));
    trial.quality += std::exp(-std::pow(std::log10(trial.lr) + 0.5 + 3 * done, 2));
    best = std::max(best, trial.quality);
    const std::vector<int64_t> lengths = searcher_.ReportLengths(id);
    if (std::find(lengths.begin(), lengths.end(), trial.length) == lengths.end()) return;
    Take(searcher_.Handle(
        ValidationReported{id, trial.length, static_cast<double>(trial.length), {-trial.quality}}));
  }

  void Take(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      if (const auto* create = std::get_if<CreateTrial>(&operation)) {
        Trial trial{.lr = *create->hparams.at("lr").AsDouble()};
        if (create->parent) {
          const Trial& parent = trials_.at(*create->parent);
          EXPECT_EQ(parent.state, kPaused) << "its checkpoint is not the one from its pause";
          trial.before = parent.before + parent.length;
          trial.quality = parent.quality;
        }
        trials_.emplace(create->request, trial);
        ++created;
      } else if (const auto* pause = std::get_if<PauseTrial>(&operation)) {
        trials_.at(pause->request).state = kPaused;
      } else if (const auto* resume = std::get_if<ResumeTrial>(&operation)) {
        trials_.at(resume->request).state = kRunning;
      } else if (const auto* stop = std::get_if<StopTrial>(&operation)) {
        trials_.at(stop->request).state = kStopped;
      }
    }
    size_t running = 0;
    for (const auto& [id, trial] : trials_) running += trial.state == kRunning ? 1 : 0;
    most_at_once = std::max(most_at_once, running);
  }

  const model::ExperimentConfig config_;
  Searcher searcher_;
  base::Rng rng_;
  std::map<RequestId, Trial> trials_;
};

TEST(PopulationPropertyTest, TrainsEachLineageToFullLength) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    model::PopulationConfig population{.size = rng.UniformInt(1, 12),
                                       .generations = rng.UniformInt(1, 6)};
    population.replaced_fraction = rng.Uniform01() / 2;
    const int64_t length = rng.UniformInt(6, 50), concurrent = rng.UniformInt(0, 5);
    model::ExperimentConfig config = Config(population, length, concurrent);
    config.experiment_seed = static_cast<uint32_t>(seed);
    CalmWorld world(config, seed);
    world.Play();
    if (::testing::Test::HasFailure()) return;
    EXPECT_EQ(world.units, population.size * length);
    const int64_t room = concurrent == 0 ? population.size : concurrent;
    EXPECT_EQ(world.most_at_once, static_cast<size_t>(std::min(room, population.size)));
    EXPECT_LE(world.created, population.size * population.generations);
  }
}

// The purpose of the method: a schedule of hyperparameters that is found during training.
TEST(PopulationPropertyTest, FindsScheduleBetterThanFixedValues) {
  std::vector<double> ours;
  std::vector<double> fixed;
  for (uint32_t seed = 0; seed < 21; ++seed) {
    for (const bool replace : {true, false}) {
      model::ExperimentConfig config = Config(
          {.size = 16, .generations = 20, .replaced_fraction = replace ? 0.25 : 0.0}, 100, 4);
      config.experiment_seed = seed;
      CalmWorld world(config, seed);
      world.Play();
      (replace ? ours : fixed).push_back(world.best);
    }
  }
  std::sort(ours.begin(), ours.end());
  std::sort(fixed.begin(), fixed.end());
  EXPECT_GT(ours[10], 1.2 * fixed[10]) << "medians of 21 seeds, equal units";
}

}  // namespace
}  // namespace det::searcher
