// A test fixture with an engine whose loops the test runs, and helpers to make events. Included by
// tests of this folder.
#ifndef MASTER_ENGINE_TESTING_ENGINE_FIXTURE_H_
#define MASTER_ENGINE_TESTING_ENGINE_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/fake_event_loop.h"
#include "gtest/gtest.h"
#include "master/engine/engine.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/faulty_store.h"
#include "master/store/testing/make_rows.h"

namespace det::engine {

// Records what leaves the engine, in order.
class Recorder final : public AgentSink, public TrialSink, public ExperimentSink {
 public:
  void Start(const cluster::StartTask& order) override {
    log.push_back("start " + order.spec.allocation.value());
  }
  void Stop(const cluster::StopTask& order) override {
    log.push_back(absl::StrCat("stop ", order.allocation.value(), " grace ",
                               absl::ToInt64Seconds(order.grace)));
  }
  void Announce(const cluster::AnnounceRendezvous& event) override {
    log.push_back("rendezvous " + event.allocation.value());
  }
  void Announce(const cluster::AnnouncePreemption& event) override {
    log.push_back("preempt " + event.allocation.value());
  }
  void Close(const cluster::CloseAllocation& event) override {
    log.push_back("close " + event.allocation.value());
  }
  void Changed(const model::TaskId&) override {}
  void Changed(model::ExperimentId id) override {
    if (record_changes) log.push_back(absl::StrCat("changed ", id.value()));
  }
  void QueueChanged() override {}

  std::vector<std::string> log;
  bool record_changes = false;
};

inline cluster::CreateExperiment Create(const std::string& name) {
  cluster::CreateExperiment create;
  create.config = store::MakeConfig(name);
  create.owner = model::UserId(1);
  return create;
}

inline cluster::AgentRegistered Register(const std::string& name, int slots,
                                         std::vector<model::AllocationId> running = {}) {
  cluster::AgentRegistered event;
  event.agent.id = model::AgentId(name);
  event.agent.address = "10.0.0.1";
  event.agent.resource_pool = "default";
  for (int i = 0; i < slots; ++i) event.agent.slots.push_back({.id = i});
  event.running = std::move(running);
  return event;
}

// An engine whose loops the test runs.
class EngineTest : public ::testing::Test {
 protected:
  EngineTest() : store_(&fake_) { Restart(); }
  ~EngineTest() override {
    Settle();
    engine_.reset();
  }

  void Restart() {
    engine_.reset();
    recorder_.log.clear();
    engine_ = std::make_unique<Engine>(
        cluster::Settings{.cluster_id = "test"}, &store_, &loop_,
        Sinks{&recorder_, &recorder_, &recorder_},
        [this](absl::Status status) { fatal_.push_back(std::move(status)); }, &commits_);
    const absl::Status started = engine_->Start();
    ASSERT_TRUE(started.ok()) << started;
    Settle();
  }

  void Settle() {
    while (!loop_.IsIdle() || !commits_.IsIdle()) {
      loop_.RunUntilIdle();
      commits_.RunUntilIdle();
    }
  }

  void Advance(absl::Duration by) {
    loop_.Advance(by);
    commits_.Advance(by);
    Settle();
  }

  void Submit(cluster::Event event, const std::string& name) {
    engine_->Submit(std::move(event), [this, name](const absl::StatusOr<Applied>& applied) {
      recorder_.log.push_back(absl::StrCat(
          name, " ", applied.ok() ? "OK" : StatusCodeToString(applied.status().code())));
      if (applied.ok() && applied->created) created_ = applied->created;
    });
  }

  void Query(const std::string& name) {
    engine_->Query(
        [](const cluster::Cluster&) {},
        [this, name](const absl::Status& status) {
          recorder_.log.push_back(absl::StrCat(name, " ", StatusCodeToString(status.code())));
        });
  }

  cluster::Image Dump() {
    cluster::Image image;
    engine_->Query([&](const cluster::Cluster& cluster) { image = cluster.Dump(); },
                   [](const absl::Status&) {});
    Settle();
    return image;
  }

  // Starts a trial, then pauses its experiment, so that it is asked to checkpoint and exit.
  void RunThenPause() {
    Submit(Register("agent-0", 1), "register");
    Submit(Create("a"), "create");
    Settle();
    Submit(cluster::LocalTaskStarted{model::AllocationId("1.1.1"), model::AgentId("agent-0")}, "");
    Submit(cluster::PauseExperiment{model::ExperimentId(1)}, "pause");
    Settle();
    recorder_.log.clear();
  }

  base::FakeEventLoop loop_;
  base::FakeEventLoop commits_;
  store::FakeStore fake_;
  store::FaultyStore store_;
  Recorder recorder_;
  std::vector<absl::Status> fatal_;
  std::optional<model::ExperimentId> created_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_TESTING_ENGINE_FIXTURE_H_
