#include "master/core/cluster/testing/fixture.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::cluster {

std::shared_ptr<model::ExperimentConfig> MakeConfig() {
  auto config = std::make_shared<model::ExperimentConfig>();
  config->name = "canonical";
  config->workspace = "Uncategorized";
  config->project = "Uncategorized";
  config->entrypoint = "train";
  config->searcher.name = "single";
  config->searcher.metric = "loss";
  config->checkpoint_storage.host_path = "/checkpoints";
  config->experiment_seed = 7;
  return config;
}

Fixture::Fixture() = default;

Outcome Fixture::Apply(const Event& event) {
  now_ += absl::Seconds(1);
  absl::StatusOr<Outcome> outcome = cluster_.Apply(event, now_);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  if (!outcome.ok()) return {};
  rows_.Apply(outcome->changes);
  Cluster again{Settings{.cluster_id = "test"}};
  const absl::Status restored = again.Restore(rows_.Load());
  EXPECT_TRUE(restored.ok()) << restored;
  EXPECT_TRUE(again.Dump() == cluster_.Dump()) << "memory and rows differ";
  const absl::Status checked = cluster_.CheckScheduler();
  EXPECT_TRUE(checked.ok()) << checked;
  return *std::move(outcome);
}

absl::Status Fixture::ExpectRejection(const Event& event) {
  const Image before = cluster_.Dump();
  const absl::StatusOr<Outcome> outcome = cluster_.Apply(event, now_);
  EXPECT_FALSE(outcome.ok());
  EXPECT_TRUE(cluster_.Dump() == before) << "a rejected event changed the state";
  return outcome.status();
}

void Fixture::AddAgent(const std::string& id, int slots, std::vector<std::string> running) {
  AgentRegistered event;
  event.agent.id = model::AgentId(id);
  event.agent.address = "10.0.0." + id;
  event.agent.resource_pool = "default";
  for (int i = 0; i < slots; ++i) event.agent.slots.push_back({.id = i, .brand = "", .uuid = ""});
  for (std::string& allocation : running) event.running.emplace_back(std::move(allocation));
  Apply(event);
}

model::ExperimentId Fixture::Create(std::shared_ptr<model::ExperimentConfig> config) {
  CreateExperiment event;
  event.config = std::move(config);
  event.context_hash = "hash";
  const Outcome outcome = Apply(event);
  Tick();
  return outcome.created.value_or(model::ExperimentId());
}

Outcome Fixture::Start(const std::string& allocation, const std::string& agent) {
  return Apply(LocalTaskStarted{model::AllocationId(allocation), model::AgentId(agent)});
}

Outcome Fixture::Exit(const std::string& allocation, int code, const std::string& agent,
                      int signal) {
  LocalTaskExited event;
  event.allocation = model::AllocationId(allocation);
  event.agent = model::AgentId(agent);
  event.exit_code = code;
  event.signal = signal;
  return Apply(event);
}

void Fixture::Restart() {
  Cluster again{Settings{.cluster_id = "test"}};
  ASSERT_TRUE(again.Restore(rows_.Load()).ok());
  cluster_ = std::move(again);
}

CheckpointReported Checkpoint(const std::string& allocation, int trial, const std::string& id,
                              int64_t steps) {
  CheckpointReported event;
  event.allocation = model::AllocationId(allocation);
  event.checkpoint.id = model::CheckpointId(id);
  event.checkpoint.trial = model::TrialId(trial);
  event.checkpoint.allocation = event.allocation;
  event.checkpoint.steps_completed = steps;
  return event;
}

}  // namespace det::cluster
