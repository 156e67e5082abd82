// The environment and the tests of SearchMethodContract; linked into each test that instantiates
// it.
#include "master/core/searcher/search_method_contract.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

namespace det::searcher {
namespace {

using model::RequestId;

bool HasConditions(const model::SearchSpace& space) {
  return std::any_of(space.begin(), space.end(),
                     [](const auto& member) { return !member.second.when.empty(); });
}

template <class Container>
auto& PickAny(const Container& from, base::Rng& rng) {
  return *std::next(from.begin(), rng.UniformInt(0, static_cast<int64_t>(from.size()) - 1));
}

}  // namespace

void HostileWorld::Play(Searcher& searcher) {
  Take(searcher.Start());
  for (int i = 0; i < 100'000 && !shut_down_; ++i) {
    ASSERT_TRUE(CanProgress()) << "no trial is running and the search has not ended";
    const Event event = Next();
    if (keep_snapshots) snapshots.push_back(searcher.Snapshot());
    history.push_back({event, searcher.Handle(event)});
    Take(history.back().operations);
    CheckBrackets(searcher.Brackets());
  }
  ASSERT_TRUE(shut_down_) << "the search does not end";
  if (keep_snapshots) snapshots.push_back(searcher.Snapshot());
  EXPECT_TRUE(searcher.shut_down());
  EXPECT_EQ(searcher.Progress(), 1);
  for (const RequestId& id : requests_) {
    EXPECT_TRUE(searcher.Handle(TrialExited{id, TrialEnd::kFailed}).empty());
  }
}

void HostileWorld::Take(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    EXPECT_FALSE(shut_down_) << "operations after Shutdown";
    if (const auto* create = std::get_if<CreateTrial>(&operation)) {
      Create(*create);
    } else if (const auto* stop = std::get_if<StopTrial>(&operation)) {
      ASSERT_TRUE(live_.contains(stop->request)) << stop->request;
      EXPECT_FALSE(std::exchange(live_[stop->request].stopped, true)) << stop->request;
    } else if (const auto* pause = std::get_if<PauseTrial>(&operation)) {
      ASSERT_TRUE(live_.contains(pause->request)) << pause->request;
      EXPECT_FALSE(live_[pause->request].stopped) << pause->request;
      EXPECT_FALSE(std::exchange(live_[pause->request].paused, true)) << pause->request;
    } else if (const auto* resume = std::get_if<ResumeTrial>(&operation)) {
      ASSERT_TRUE(live_.contains(resume->request)) << resume->request;
      EXPECT_FALSE(live_[resume->request].stopped) << resume->request;
      EXPECT_TRUE(std::exchange(live_[resume->request].paused, false)) << resume->request;
    } else {
      shut_down_ = true;
    }
    const int64_t most = case_.config.searcher.max_concurrent_trials;
    EXPECT_TRUE(most == 0 || Running() <= most) << Running() << " trials are running";
  }
  EXPECT_LE(static_cast<int64_t>(requests_.size()), case_.budget);
}

void HostileWorld::Create(const CreateTrial& create) {
  EXPECT_TRUE(requests_.insert(create.request).second) << create.request;
  live_.emplace(create.request, Trial{});
  const auto& space = case_.config.hyperparameters;
  EXPECT_LE(create.hparams.size(), space.size());
  EXPECT_TRUE(HasConditions(space) || create.hparams.size() == space.size());
}

void HostileWorld::CheckBrackets(const std::vector<Bracket>& brackets) const {
  for (const Bracket& bracket : brackets) {
    std::set<RequestId> stopped;  // at a rung below
    for (size_t i = 0; i < bracket.size(); ++i) {
      const Rung& rung = bracket[i];
      std::set<RequestId> come;
      int64_t continued = 0;
      for (size_t place = 0; place < rung.arrivals.size(); ++place) {
        const Arrival& arrival = rung.arrivals[place];
        EXPECT_TRUE(requests_.contains(arrival.request)) << arrival.request;
        EXPECT_TRUE(come.insert(arrival.request).second) << arrival.request << " arrived twice";
        EXPECT_FALSE(stopped.contains(arrival.request)) << arrival.request << " was stopped";
        EXPECT_TRUE(place == 0 || rung.arrivals[place - 1].loss <= arrival.loss);
        EXPECT_EQ(arrival.outcome == Outcome::kDone, i + 1 == bracket.size());
        continued += arrival.outcome == Outcome::kContinued ? 1 : 0;
        if (arrival.outcome == Outcome::kStopped) stopped.insert(arrival.request);
        const auto live = live_.find(arrival.request);
        if (arrival.outcome == Outcome::kWaiting && live != live_.end()) {
          EXPECT_FALSE(live->second.stopped) << arrival.request << " does not wait";
        }
      }
      EXPECT_EQ(static_cast<int64_t>(come.size()), rung.reported);
      EXPECT_EQ(continued, rung.continued);
      if (rung.best_loss) {
        EXPECT_EQ(rung.arrivals.front().loss, *rung.best_loss);
      }
    }
  }
}

int64_t HostileWorld::Running() const {
  return std::count_if(live_.begin(), live_.end(), [](const auto& t) { return !t.second.paused; });
}

// A paused trial does not train, but it may end.
bool HostileWorld::CanProgress() const {
  return std::any_of(live_.begin(), live_.end(),
                     [](const auto& t) { return !t.second.paused || t.second.stopped; });
}

int64_t HostileWorld::MaxLength() const {
  const int64_t length = model::MaxLength(case_.config.searcher);
  return length > 0 ? length : 1000;
}

bool HostileWorld::MayEnd(const Trial& trial) const {
  return trials != Trials::kObedient || trial.stopped ||
         (!trial.paused && trial.steps >= MaxLength());
}

const HostileWorld::Live::value_type* HostileWorld::Pick(
    const std::function<bool(const Trial&)>& which) {
  std::vector<const Live::value_type*> found;
  for (const auto& trial : live_) {
    if (which(trial.second)) found.push_back(&trial);
  }
  return found.empty() ? nullptr : PickAny(found, rng_);
}

Event HostileWorld::Next() {
  const int64_t dice = rng_.UniformInt(0, 9);
  // Often repeated, sometimes for a trial that has ended.
  if (dice == 0) return TrialCreated{PickAny(requests_, rng_)};
  if (dice == 1) return TrialExited{RequestId("never created"), TrialEnd::kFailed};
  if (dice == 2 && trials != Trials::kSilent) return WildValidation();
  if (dice < 7 && trials != Trials::kSilent) {
    const auto* trial = Pick([this](const Trial& t) {
      return !t.paused && !t.stopped && (trials == Trials::kMixed || t.steps < MaxLength());
    });
    if (trial != nullptr) return NextValidation(trial->first);
  }
  return Exit();
}

Event HostileWorld::WildValidation() {
  const RequestId& request = PickAny(requests_, rng_);
  const auto live = live_.find(request);
  // A trial of kind kObedient may be late, but its reports are correct.
  if (trials == Trials::kObedient && live != live_.end() && !live->second.stopped &&
      !live->second.paused) {
    return NextValidation(request);
  }
  const int64_t steps = rng_.UniformInt(0, 2 * MaxLength());
  if (live != live_.end()) live->second.steps = std::max(live->second.steps, steps);
  return ValidationReported{request, steps, static_cast<double>(steps) / 2, Metrics()};
}

Event HostileWorld::NextValidation(const RequestId& request) {
  int64_t& steps = live_[request].steps;
  steps += rng_.UniformInt(1, std::max<int64_t>(1, MaxLength() / 3));
  return ValidationReported{request, steps, static_cast<double>(std::min(steps, MaxLength())),
                            Metrics()};
}

std::vector<double> HostileWorld::Metrics() {
  std::vector<double> metrics;
  if (rng_.UniformInt(0, 9) == 0) return metrics;
  for (size_t i = 0; i < model::Objectives(case_.config.searcher).size(); ++i) {
    metrics.push_back(Metric());
  }
  return metrics;
}

double HostileWorld::Metric() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (rng_.UniformInt(0, 9)) {
    case 0:
      return std::nan("");
    case 1:
      return kInfinity;
    case 2:
      return -kInfinity;
    case 3:
      return std::numeric_limits<double>::max();
    case 4:
      return 0;  // so that there are ties
    case 5:
      return rng_.Normal();
    default:
      return rng_.Uniform01();
  }
}

Event HostileWorld::Exit() {
  const auto* trial = Pick([this](const Trial& t) { return MayEnd(t); });
  if (trial == nullptr) {
    trial = Pick([](const Trial& t) { return !t.paused; });
    return NextValidation(trial->first);
  }
  const RequestId id = trial->first;
  live_.erase(id);
  const int64_t dice = rng_.UniformInt(0, 99);
  if (dice < failed) return TrialExited{id, TrialEnd::kFailed};
  if (dice < failed + invalid) return TrialExited{id, TrialEnd::kInvalidHp};
  if (dice < failed + invalid + canceled) return TrialExited{id, TrialEnd::kCanceled};
  return TrialExited{id, TrialEnd::kCompleted};
}

TEST_P(SearchMethodContract, TerminatesWithinBudget_InHostileEnvironment) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Searcher searcher = Make();
    HostileWorld world(GetParam(), seed);
    world.Play(searcher);
    if (HasFailure()) return;
  }
}

TEST_P(SearchMethodContract, TerminatesWhenAllTrialsEndTheSameWay) {
  for (const int way : {0, 1, 2, 3}) {
    SCOPED_TRACE(way);
    Searcher searcher = Make();
    HostileWorld world(GetParam(), 7);
    world.failed = way == 0 ? 100 : 0;
    world.invalid = way == 1 ? 100 : 0;
    world.canceled = way == 2 ? 100 : 0;
    world.Play(searcher);
    if (HasFailure()) return;
    EXPECT_EQ(searcher.failed(), way == 0 || way == 1);
    EXPECT_EQ(searcher.canceled(), way == 2);
  }
}

// No method waits forever for trials that do not report or do not end.
TEST_P(SearchMethodContract, TerminatesWhenTrialsAreSilentOrObedient) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Searcher silent = Make(), obeyed = Make();
    HostileWorld silence(GetParam(), seed);
    silence.trials = HostileWorld::Trials::kSilent;
    silence.Play(silent);
    if (HasFailure()) return;
    HostileWorld obedience(GetParam(), seed);
    obedience.trials = HostileWorld::Trials::kObedient;
    obedience.failed = obedience.invalid = obedience.canceled = 0;
    obedience.Play(obeyed);
    if (HasFailure()) return;
    EXPECT_FALSE(obeyed.failed() || obeyed.canceled());
  }
}

TEST_P(SearchMethodContract, IsDeterministic) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Searcher one = Make();
    Searcher two = Make();
    HostileWorld world(GetParam(), seed);
    world.Play(one);
    two.Start();
    for (const Step& step : world.history) ASSERT_EQ(two.Handle(step.event), step.operations);
    EXPECT_EQ(one.Snapshot(), two.Snapshot());
  }
}

TEST_P(SearchMethodContract, RestoreAtEveryPrefixContinuesIdentically) {
  for (uint64_t seed = 0; seed < kSeeds / 10; ++seed) {
    SCOPED_TRACE(seed);
    Searcher original = Make();
    HostileWorld world(GetParam(), seed);
    world.keep_snapshots = true;
    world.Play(original);
    for (size_t from = 0; from < world.snapshots.size(); ++from) {
      // The snapshot passes through JSON text, as in the store.
      const auto snapshot = model::Value::FromJson(world.snapshots[from].ToJson());
      ASSERT_TRUE(snapshot.ok()) << snapshot.status();
      auto restored = Searcher::Restore(GetParam().config, *snapshot);
      ASSERT_TRUE(restored.ok()) << restored.status();
      ASSERT_EQ(restored->Snapshot(), world.snapshots[from]) << "prefix " << from;
      for (size_t i = from; i < world.history.size(); ++i) {
        ASSERT_EQ(restored->Handle(world.history[i].event), world.history[i].operations)
            << "prefix " << from << ", step " << i;
      }
      EXPECT_EQ(restored->Snapshot(), original.Snapshot());
      EXPECT_EQ(restored->failed(), original.failed());
    }
  }
}

TEST_P(SearchMethodContract, RejectsForeignSnapshot) {
  const model::Value good = Make().Snapshot();
  EXPECT_FALSE(Searcher::Restore(GetParam().config, model::Value()).ok());
  for (const auto& [name, value] : *good.AsObject()) {
    model::Value bad = good;
    bad.MutableObject()->erase(name);
    EXPECT_FALSE(Searcher::Restore(GetParam().config, bad).ok()) << "without " << name;
  }
  model::Value bad = good;
  (*bad.MutableObject())["method"] = "of another method";
  EXPECT_FALSE(Searcher::Restore(GetParam().config, bad).ok());
}

TEST_P(SearchMethodContract, ProgressStaysBetweenZeroAndOne) {
  Searcher searcher = Make();
  EXPECT_EQ(searcher.Progress(), 0);
  for (const Operation& operation : searcher.Start()) {
    const auto* create = std::get_if<CreateTrial>(&operation);
    if (create == nullptr) continue;
    for (const double progress : {0.5, -1.0, 7.0, std::nan("")}) {
      searcher.SetTrialProgress(create->request, progress);
      EXPECT_GE(searcher.Progress(), 0);
      EXPECT_LE(searcher.Progress(), 1);
    }
  }
}

}  // namespace det::searcher
