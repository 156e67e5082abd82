// Fills the database of a stopped master with trials that run on simulated agents, created by the
// real engine, and with ended trials. Prints one line per agent for `agents`: its ID and its
// allocations.
//
// Usage: fill DATA_DIR RUNNING FINISHED
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/event_loop.h"
#include "master/engine/engine.h"
#include "master/store/postgres/embedded_postgres.h"
#include "master/store/postgres/postgres_store.h"

namespace det::engine {
namespace {

constexpr int kSlots = 8;     // per agent
constexpr int kTrials = 100;  // per experiment
constexpr char kDirectory[] = "/checkpoints";

std::shared_ptr<model::ExperimentConfig> MakeConfig(const std::string& name, int trials) {
  auto config = std::make_shared<model::ExperimentConfig>();
  config->name = name;
  config->entrypoint = "train.cc:Trial";
  config->searcher.name = "random";
  config->searcher.metric = "loss";
  config->searcher.max_trials = trials;
  config->searcher.max_concurrent_trials = trials;
  config->searcher.max_length = model::Length{model::Length::Unit::kBatches, 1000};
  for (const char* hparam : {"learning_rate", "momentum", "dropout", "weight_decay"}) {
    config->hyperparameters[hparam] = {model::DoubleHparam{0, 1, std::nullopt}};
  }
  config->checkpoint_storage.host_path = kDirectory;
  return config;
}

// ---- ended experiments ----

experiment::Trial MakeFinished(int id, int experiment, absl::Time end) {
  experiment::Trial trial;
  trial.id = model::TrialId(id);
  trial.experiment = model::ExperimentId(experiment);
  trial.request = model::RequestId(absl::StrCat(id));
  trial.task = model::TaskId(absl::StrCat(experiment, ".", id));
  trial.hparams = {
      {"learning_rate", 0.25}, {"momentum", 0.5}, {"dropout", 0.125}, {"weight_decay", 0.75}};
  trial.state = model::TrialState::kCompleted;
  trial.steps_completed = 1000;
  trial.progress = 1;
  trial.best_metric = trial.latest_metric = 0.5;
  trial.created_at = end - absl::Minutes(10);
  trial.ended_at = end;
  return trial;
}

experiment::Allocation MakeFinished(const experiment::Trial& trial) {
  experiment::Allocation allocation;
  allocation.id = model::AllocationId(absl::StrCat(trial.task.value(), ".0"));
  allocation.task = trial.task;
  allocation.trial = trial.id;
  allocation.job = model::JobId(absl::StrCat("exp-", trial.experiment.value()));
  allocation.slots = allocation.granted = 1;
  allocation.submitted = trial.id.value();
  allocation.state = model::AllocationState::kTerminated;
  allocation.queued_at = trial.created_at;
  allocation.started_at = trial.created_at;
  allocation.ended_at = trial.ended_at;
  return allocation;
}

void AddFinished(store::Store& store, model::UserId owner, int trials) {
  DET_CHECK_OK(store.Load());
  const absl::Time now = absl::Now();
  for (int experiment = 1; experiment <= trials / kTrials; ++experiment) {
    experiment::Experiment e;
    e.id = model::ExperimentId(experiment);
    e.job = model::JobId(absl::StrCat("exp-", experiment));
    e.owner = owner;
    e.config = MakeConfig(absl::StrCat("finished-", experiment), kTrials);
    e.state = model::ExperimentState::kCompleted;
    e.progress = 1;
    e.created_at = now - absl::Minutes(10);
    e.ended_at = now;
    std::vector<cluster::Change> changes = {cluster::PutExperiment{e}};
    std::vector<model::MetricReport> reports;
    for (int i = 1; i <= kTrials; ++i) {
      const int id = (experiment - 1) * kTrials + i;
      const experiment::Trial trial = MakeFinished(id, experiment, now);
      changes.push_back(cluster::PutAllocation{MakeFinished(trial)});
      changes.push_back(cluster::PutTrial{trial});
      model::MetricReport report;
      report.trial = trial.id;
      report.group = "validation";
      report.steps_completed = 1000;
      report.time = now;
      report.metrics = model::Value::Object{{"loss", 0.5}};
      reports.push_back(std::move(report));
    }
    DET_CHECK_OK(store.Commit(experiment, changes));
    DET_CHECK_OK(store.AddMetrics(reports));
  }
}

// ---- running experiments ----

// Simulates all agents: reports every started task as running. Called on the loop of the engine.
class Agents final : public AgentSink {
 public:
  void SetEngine(Engine* engine) { engine_ = engine; }
  void Start(const cluster::StartTask& order) override {
    engine_->Submit(cluster::LocalTaskStarted{order.spec.allocation, order.agent},
                    [this, order](const absl::StatusOr<Applied>& applied) {
                      DET_CHECK_OK(applied.status());
                      std::lock_guard lock(mutex_);
                      running_[order.agent.value()].push_back(order.spec.allocation.value());
                      ++count_;
                      changed_.notify_all();
                    });
  }
  void Stop(const cluster::StopTask&) override {}

  std::map<std::string, std::vector<std::string>> Await(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
    return running_;
  }

 private:
  Engine* engine_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  std::map<std::string, std::vector<std::string>> running_;
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

model::Agent MakeAgent(int index) {
  model::Agent agent;
  agent.id = model::AgentId(absl::StrCat("agent-", index));
  agent.address = "127.0.0.1";
  agent.resource_pool = "default";
  for (int i = 0; i < kSlots; ++i) agent.slots.push_back({.id = i});
  return agent;
}

void AddRunning(store::Store& store, model::UserId owner, int trials) {
  Agents agents;
  Nobody nobody;
  auto loop = base::MakeAsioEventLoop("cluster");
  Engine engine(cluster::Settings{.cluster_id = "bench"}, &store, loop.get(),
                Sinks{.agents = &agents, .trials = &nobody, .experiments = &nobody},
                [](const absl::Status& status) { DET_CHECK_OK(status); });
  agents.SetEngine(&engine);
  DET_CHECK_OK(engine.Start());
  for (int i = 0; i < trials / kTrials; ++i) {
    engine.Submit(cluster::CreateExperiment{
        .config = MakeConfig(absl::StrCat("running-", i), kTrials), .owner = owner});
  }
  const int machines = (trials + kSlots - 1) / kSlots;
  for (int i = 0; i < machines; ++i) engine.Submit(cluster::AgentRegistered{MakeAgent(i), {}});
  for (const auto& [agent, allocations] : agents.Await(trials)) {
    std::printf("%s %s\n", agent.c_str(), absl::StrJoin(allocations, " ").c_str());
  }
  engine.Stop();
  loop->Stop();
}

void Run(const std::string& data_dir, int running, int finished) {
  auto postgres = store::EmbeddedPostgres::Start({.data_dir = data_dir});
  DET_CHECK_OK(postgres);
  auto store = store::OpenPostgresStore((*postgres)->connection_string());
  DET_CHECK_OK(store);
  const auto owner = (*store)->users().GetUserByName("admin");
  DET_CHECK_OK(owner);
  AddFinished(**store, owner->id, finished);
  if (running > 0) AddRunning(**store, owner->id, running);
}

}  // namespace
}  // namespace det::engine

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: fill DATA_DIR RUNNING FINISHED\n");
    return 2;
  }
  det::engine::Run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  return 0;
}
