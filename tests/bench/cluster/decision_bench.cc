// Measures the cost of a search with 10,000 trials: one decision, its rows, a restart. Prints one
// line per measurement with its target; the exit code is 1 if one is missed. A decision is
// `Cluster::Apply` of a validation or of the end of a trial, without commit and effects.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/rng.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/rows.h"

namespace det::cluster {
namespace {

constexpr int64_t kTrials = 10'000;
constexpr int kSlots = 16;

std::shared_ptr<model::ExperimentConfig> MakeConfig(const std::string& method) {
  auto config = std::make_shared<model::ExperimentConfig>();
  config->name = "bench";
  config->entrypoint = "train";
  config->searcher.name = method;
  config->searcher.metric = "loss";
  config->searcher.max_trials = kTrials;
  config->searcher.max_concurrent_trials = kSlots;
  config->searcher.max_length = model::Length{model::Length::Unit::kBatches, 1024};
  config->checkpoint_storage.host_path = "/checkpoints";
  for (const char* name : {"a", "b", "c", "d"}) {
    config->hyperparameters[name] = {model::DoubleHparam{0, 1, std::nullopt}};
  }
  return config;
}

// Times in microseconds.
struct Times {
  std::vector<double> each;
  double Mean() const {
    return std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(each.size());
  }
  double At(double quantile) {
    const auto at =
        each.begin() + static_cast<int64_t>(quantile * static_cast<double>(each.size() - 1));
    std::nth_element(each.begin(), at, each.end());
    return *at;
  }
};

// A cluster with one agent whose trials report at each length that the search requests, or at the
// end, and then exit.
class Play {
 public:
  explicit Play(const std::string& method) {
    AgentRegistered agent;
    agent.agent.id = model::AgentId("a");
    agent.agent.address = "10.0.0.1";
    agent.agent.resource_pool = "default";
    for (int i = 0; i < kSlots; ++i)
      agent.agent.slots.push_back({.id = i, .brand = "", .uuid = ""});
    Apply(agent);
    Apply(CreateExperiment{.config = MakeConfig(method)});
  }

  // Runs until nearly all trials exist, so that the state is large.
  void Run() {
    while (rows.trials.size() + kSlots < kTrials && Live()) {
      Apply(ScheduleTick{});
      for (const model::AllocationId& id : Running()) Step(id);
    }
  }

  Cluster cluster{Settings{.cluster_id = "bench"}};
  Rows rows;
  Times decisions;

 private:
  bool Live() const { return !cluster.live_experiments().empty(); }

  std::vector<model::AllocationId> Running() const {
    std::vector<model::AllocationId> ids;
    for (const auto* a : cluster.live_allocations()) {
      if (!a->local_tasks.empty()) ids.push_back(a->id);
    }
    return ids;
  }

  // Trains up to the next report, or exits if the trial was stopped.
  void Step(const model::AllocationId& id) {
    const experiment::Allocation* a = cluster.FindAllocation(id);
    if (a == nullptr) return;
    const experiment::Trial* trial = cluster.FindTrial(a->trial);
    if (a->state == model::AllocationState::kAssigned)
      Apply(LocalTaskStarted{id, model::AgentId("a")});
    int64_t& trained = trained_[trial->id];
    if (trial->state == model::TrialState::kRunning && trained < 1024) {
      trained = std::max<int64_t>(1, trained * 4);
      Report(id, trial->id, trained);
      return;
    }
    Apply(PreemptionAcked{id});
    Decide(LocalTaskExited{.allocation = id, .agent = model::AgentId("a"), .message = ""});
  }

  void Report(const model::AllocationId& id, model::TrialId trial, int64_t batches) {
    model::MetricReport report;
    report.trial = trial;
    report.group = "validation";
    report.steps_completed = batches;
    report.metrics = model::Value::Object{{"loss", rng_.Uniform01()}};
    Decide(ValidationsReported{id, {std::move(report)}});
  }

  void Decide(const Event& event) {
    const absl::Time before = absl::Now();
    absl::StatusOr<Outcome> outcome = cluster.Apply(event, now_);
    decisions.each.push_back(absl::ToDoubleMicroseconds(absl::Now() - before));
    DET_CHECK_OK(outcome.status());
    rows.Apply(outcome->changes);
  }

  void Apply(const Event& event) {
    absl::StatusOr<Outcome> outcome = cluster.Apply(event, now_);
    DET_CHECK_OK(outcome.status());
    rows.Apply(outcome->changes);
  }

  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  base::Rng rng_{7};
  std::map<model::TrialId, int64_t> trained_;
};

bool Show(const std::string& what, double value, const char* unit, double bound) {
  const bool good = value <= bound;
  std::printf("%-52s%10.3f %-4s bound %g %s\n", what.c_str(), value, unit, bound,
              good ? "ok" : "MISSED");
  return good;
}

bool Measure(const std::string& method) {
  Play play(method);
  play.Run();
  const Image image = play.rows.Load();
  double bytes = 0;
  for (const auto& [id, row] : image.searchers) {
    bytes += static_cast<double>(row.snapshot.ToJson().size());
  }
  for (const AddSearcherEvents& row : image.searcher_events) {
    bytes += static_cast<double>(row.events.ToJson().size());
  }
  const absl::Time before = absl::Now();
  Cluster again{Settings{.cluster_id = "bench"}};
  DET_CHECK_OK(again.Restore(image));
  const double restore = absl::ToDoubleSeconds(absl::Now() - before);
  DET_CHECK(again.Dump() == play.cluster.Dump()) << "a restart changes the search";
  std::printf("%s: %zu trials, %zu decisions, %zu journal rows\n", method.c_str(),
              play.rows.trials.size(), play.decisions.each.size(), image.searcher_events.size());
  bool good = Show("  one decision, median", play.decisions.At(0.5), "us", 100);
  good &=
      Show("  one decision, mean (with its share of snapshots)", play.decisions.Mean(), "us", 100);
  good &= Show("  one decision, slowest", play.decisions.At(1) / 1000, "ms", 100);
  good &= Show("  snapshot and journal", bytes / 1e6, "MB", 5);
  good &= Show("  restore of the cluster", restore, "s", 1);
  return good;
}

int Main() {
  bool good = true;
  const std::vector<std::string> known = searcher::SearchMethodNames();
  for (const char* method : {"random", "adaptive_asha"}) {
    if (std::find(known.begin(), known.end(), method) == known.end()) continue;
    good &= Measure(method);
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace det::cluster

int main() { return det::cluster::Main(); }
