// Measures how many gangs per second the engine places with a real PostgreSQL and simulated agents.
// The agents report the start and the end of a task immediately, so that its slots are free for the
// next one of a long queue. Prints one line per measurement with its target; the exit code is 1 if
// one is missed.
//
// A placement counts when its command is sent, which is after its rows are durable. The delay is
// the time from the decision (the time of the scheduling pass) to that moment.
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/event_loop.h"
#include "base/file.h"
#include "master/engine/engine.h"
#include "master/store/postgres/embedded_postgres.h"
#include "master/store/postgres/postgres_store.h"

namespace det::engine {
namespace {

constexpr int kAgents = 1000;
constexpr int kSlots = 8;
constexpr int kExperiments = 40;
constexpr int kTrials = 1000;  // per experiment
constexpr double kMinRate = 2000;
constexpr double kMaxDelayMs = 50;

// Sizes per experiment, mostly small.
constexpr int kSizes[] = {1, 1, 2, 1, 4, 1, 8, 1, 2, 16};

std::shared_ptr<model::ExperimentConfig> MakeConfig(int index) {
  auto config = std::make_shared<model::ExperimentConfig>();
  config->name = absl::StrCat("placement-", index);
  config->entrypoint = "true";
  config->searcher.name = "random";
  config->searcher.metric = "loss";
  config->searcher.max_trials = kTrials;
  config->searcher.max_length = model::Length{model::Length::Unit::kBatches, 1};
  config->hyperparameters["x"] = {model::DoubleHparam{0, 1, std::nullopt}};
  config->checkpoint_storage.host_path = "/checkpoints";
  config->resources.slots_per_trial = kSizes[index % std::size(kSizes)];
  return config;
}

model::Agent MakeAgent(int index) {
  model::Agent agent;
  agent.id = model::AgentId(absl::StrCat("agent-", index));
  agent.address = "10.0.0.1";
  agent.resource_pool = "default";
  for (int i = 0; i < kSlots; ++i) agent.slots.push_back({.id = i});
  return agent;
}

// Simulates all agents. Called on the loop of the engine, and reports on the same loop.
class Agents final : public AgentSink {
 public:
  void SetEngine(Engine* engine) { engine_ = engine; }

  void Start(const cluster::StartTask& order) override {
    const absl::Time sent = absl::Now();
    // Records the time of the decision before the task continues and its row is removed.
    engine_->Query(
        [this, id = order.spec.allocation, sent](const cluster::Cluster& cluster) {
          const experiment::Allocation* allocation = cluster.FindAllocation(id);
          if (allocation == nullptr || !allocation->started_at) return;
          Record(id, *allocation->started_at, sent);
        },
        [this, id = order.spec.allocation, agent = order.agent](const absl::Status&) {
          engine_->Submit(cluster::LocalTaskStarted{id, agent});
          engine_->Submit(cluster::LocalTaskExited{.allocation = id, .agent = agent});
        });
  }
  void Stop(const cluster::StopTask& order) override {
    engine_->Submit(cluster::LocalTaskExited{.allocation = order.allocation, .agent = order.agent});
  }

  // Blocks until `placements` gangs have been placed.
  void Await(size_t placements) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sent_.size() >= placements; });
  }
  std::vector<absl::Time> sent() {
    std::lock_guard lock(mutex_);
    return sent_;
  }
  std::vector<double> delays_ms() {
    std::lock_guard lock(mutex_);
    return delays_ms_;
  }

 private:
  // Once per gang, regardless of the number of its agents.
  void Record(const model::AllocationId& id, absl::Time decided, absl::Time sent) {
    std::lock_guard lock(mutex_);
    if (!seen_.insert(id).second) return;
    sent_.push_back(sent);
    delays_ms_.push_back(absl::ToDoubleMilliseconds(sent - decided));
    changed_.notify_all();
  }

  Engine* engine_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<model::AllocationId> seen_;
  std::vector<absl::Time> sent_;
  std::vector<double> delays_ms_;
};

class Nobody final : public TrialSink, public ExperimentSink {
 public:
  void Announce(const cluster::AnnounceRendezvous&) override {}
  void Announce(const cluster::AnnouncePreemption&) override {}
  void Close(const cluster::CloseAllocation&) override {}
  void Changed(const model::TaskId&) override {}
  void Changed(model::ExperimentId) override {}
  void QueueChanged() override {}
};

double Quantile(std::vector<double> values, double q) {
  const auto at = values.begin() + static_cast<int64_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The middle four fifths, without the start in an empty cluster and the last gangs.
double SustainedRate(std::vector<absl::Time> sent) {
  std::sort(sent.begin(), sent.end());
  const size_t begin = sent.size() / 10, end = sent.size() - sent.size() / 10 - 1;
  return static_cast<double>(end - begin) / absl::ToDoubleSeconds(sent[end] - sent[begin]);
}

bool Report(const char* what, double value, const char* unit, bool good, double bound) {
  std::printf("%-46s %10.1f %-4s  %s %g: %s\n", what, value, unit, "bound", bound,
              good ? "ok" : "MISSED");
  return good;
}

int Run() {
  auto dir = base::TempDir::Create("bench");
  DET_CHECK_OK(dir);
  // When run as root, the server runs as another user, which needs access.
  DET_CHECK(::chmod(dir->path().c_str(), 0755) == 0);
  auto postgres = store::EmbeddedPostgres::Start({.data_dir = dir->path()});
  DET_CHECK_OK(postgres);
  auto store = store::OpenPostgresStore((*postgres)->connection_string());
  DET_CHECK_OK(store);
  const auto owner = (*store)->users().AddUser({.username = "bench"});
  DET_CHECK_OK(owner);

  Agents agents;
  Nobody nobody;
  auto loop = base::MakeAsioEventLoop("cluster");
  Engine engine(cluster::Settings{.cluster_id = "bench"}, store->get(), loop.get(),
                Sinks{.agents = &agents, .trials = &nobody, .experiments = &nobody},
                [](const absl::Status& status) { DET_CHECK_OK(status); });
  agents.SetEngine(&engine);
  DET_CHECK_OK(engine.Start());
  for (int i = 0; i < kExperiments; ++i) {
    engine.Submit(cluster::CreateExperiment{.config = MakeConfig(i), .owner = owner->id});
  }
  // Last, so that the queue is complete when the first slots become available.
  for (int i = 0; i < kAgents; ++i) engine.Submit(cluster::AgentRegistered{MakeAgent(i), {}});
  agents.Await(static_cast<size_t>(kExperiments) * kTrials);

  const double rate = SustainedRate(agents.sent());
  const std::vector<double> delays = agents.delays_ms();
  const double p99 = Quantile(delays, 0.99);
  std::printf("%d agents of %d slots, %d gangs\n", kAgents, kSlots, kExperiments * kTrials);
  bool good = Report("sustained placements per second", rate, "1/s", rate >= kMinRate, kMinRate);
  good &= Report("decision to command sent, p99", p99, "ms", p99 < kMaxDelayMs, kMaxDelayMs);
  std::printf("%-46s %10.1f ms\n", "decision to command sent, median", Quantile(delays, 0.5));
  const CommitStats stats = engine.stats();
  std::printf("%-46s %10.1f\n", "changes per commit",
              static_cast<double>(stats.changes) / static_cast<double>(stats.commits));
  engine.Stop();
  loop->Stop();
  return good ? 0 : 1;
}

}  // namespace
}  // namespace det::engine

int main() { return det::engine::Run(); }
