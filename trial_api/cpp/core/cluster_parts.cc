#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "trial_api/cpp/core/checkpoints.h"
#include "trial_api/cpp/core/cluster_metrics.h"
#include "trial_api/cpp/core/cluster_preemption.h"
#include "trial_api/cpp/core/context_parts.h"
#include "trial_api/cpp/core/environment.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/exchange.h"
#include "trial_api/cpp/core/gloo_communicator.h"
#include "trial_api/cpp/core/mirrored_metrics.h"
#include "trial_api/cpp/core/outbox_location.h"
#include "trial_api/cpp/core/report_queue.h"
#include "trial_api/cpp/core/sampling_profiler.h"
#include "trial_api/cpp/core/single_communicator.h"
#include "trial_api/cpp/core/tensorboard_folder.h"
#include "trial_api/cpp/core/trial_client.h"
#include <nlohmann/json.hpp>

namespace det::core {
namespace {

using Json = nlohmann::json;

constexpr char kLoopback[] = "127.0.0.1";

// The contents of the file that the master wrote to the run directory.
struct TrialInfo {
  ContextParts parts;
  std::string checkpoint_dir;  // empty: checkpoints are in a bucket
  StartPoint start;
};

TrialInfo ReadTrialInfo() {
  const std::string path = RequireEnv("DET_RUN_DIR") + "/info/trial.json";
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) throw Error(std::string(text.status().message()));
  try {
    const Json json = Json::parse(*text);
    TrialInfo info;
    info.parts.on_cluster = true;
    info.parts.experiment_id = json.at("experiment_id");
    info.parts.trial_id = json.at("trial_id");
    info.parts.seed = json.at("trial_seed");
    info.parts.config_json = json.at("config").dump();
    info.parts.hparams = Hparams(json.at("hparams").dump());
    info.checkpoint_dir = json.at("checkpoint_dir");
    const Json latest = json.value("latest_checkpoint", Json());
    if (latest.is_string()) info.start.uuid = latest;
    info.start.uuid = EnvOr("DET_LATEST_CHECKPOINT", info.start.uuid);
    info.parts.warm_start = json.value("warm_start", false);
    if (!info.parts.warm_start) info.start.steps = json.value("steps_completed", int64_t{0});
    info.parts.validate_at = json.value("validate_at", std::vector<int64_t>());
    return info;
  } catch (const Json::exception& e) {
    throw Error(path + ": " + e.what());
  }
}

// Ends the process of a run that the master has given up. Does not call exit(), because other
// threads are running.
[[noreturn]] void EndProcess(const std::string& why) {
  std::fflush(stdout);
  std::fprintf(stderr, "ERROR: %s; ending this process\n", why.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

std::shared_ptr<ReportQueue> MakeReportQueue(std::shared_ptr<TrialClient> client,
                                             const std::string& owner, int run) {
  ReportQueue::Options options;
  options.outbox = GetOutboxOptions(owner, run);
  options.on_over = EndProcess;
  return std::make_shared<ReportQueue>(std::move(client), options);
}

// Returns the storage: a directory, or the bucket in the configuration.
std::unique_ptr<storage::Storage> MakeStorage(const TrialInfo& info, const std::string& config,
                                              const std::string& owner) {
  if (!info.checkpoint_dir.empty()) return storage::MakeSharedFs(info.checkpoint_dir, owner);
  return storage::MakeBucketStorage(config, RequireEnv("DET_RUN_DIR") + "/checkpoints", owner);
}

// The event files are copied next to the checkpoints, where the other trials of the cluster have
// theirs.
std::unique_ptr<Tensorboard> MakeClusterTensorboard(const ContextParts& parts,
                                                    std::shared_ptr<storage::Storage> storage,
                                                    std::optional<int64_t> resumed_at) {
  const std::string cluster = EnvOr("DET_CLUSTER_ID", "");
  const std::string place = cluster + (cluster.empty() ? "" : "/") + "tensorboard/experiment/" +
                            std::to_string(parts.experiment_id) + "/trial/" +
                            std::to_string(parts.trial_id);
  const std::string folder =
      TensorboardFolder(RequireEnv("DET_RUN_DIR") + "/tensorboard", parts.communicator->ranks());
  const auto copy = [storage = std::move(storage), place](const std::string& from) {
    storage->CopyNextToCheckpoints(from, place);
  };
  return MakeTensorboard(folder, copy, SecondsNow, resumed_at);
}

std::unique_ptr<Communicator> Connect(const Ranks& ranks, std::shared_ptr<TrialClient> client) {
  if (ranks.size == 1) return MakeSingleCommunicator();
  const std::string address = ranks.cross_size == 1 ? kLoopback : RequireEnv("DET_NODE_ADDRESS");
  return ConnectGloo(ranks, address, *MakeMasterExchange(std::move(client)));
}

}  // namespace

std::string ClusterConfigJson() { return ReadTrialInfo().parts.config_json; }

ContextParts GatherClusterParts(const Ranks& ranks) {
  TrialInfo info = ReadTrialInfo();
  ContextParts parts = std::move(info.parts);
  const TrialClient::Options options = ClientOptionsFromEnvironment();
  const auto client = std::make_shared<TrialClient>(options);
  const std::string owner = GetTrialOwner(parts.trial_id);
  parts.communicator = Connect(ranks, client);
  const bool is_chief = parts.communicator->ranks().is_chief();
  const auto queue = is_chief ? MakeReportQueue(client, owner, options.trial_run_id) : nullptr;
  std::optional<int64_t> resumed_at;
  if (options.trial_run_id > 1) resumed_at = info.start.steps.value_or(0);
  parts.tensorboard =
      MakeClusterTensorboard(parts, MakeStorage(info, parts.config_json, owner), resumed_at);
  parts.metrics = is_chief ? MakeMirroredMetrics(MakeClusterMetrics(queue), parts.tensorboard.get())
                           : MakeSilentMetrics();
  parts.profiler =
      is_chief ? MakeSamplingProfiler(parts.metrics.get(), ThisMachine) : MakeNoProfiler();
  const auto on_over = [queue](const std::string& why) {
    queue->Discard();
    EndProcess(why);
  };
  parts.preemption = is_chief ? MakeClusterPreemption(client, on_over) : MakeNoPreemption();
  parts.checkpoints = MakeCheckpoints(
      parts.communicator.get(), MakeStorage(info, parts.config_json, owner), info.start,
      [queue](const CheckpointReport& checkpoint) { queue->AddCheckpoint(checkpoint); });
  parts.report_invalid_hp = [client](const std::string& message) {
    client->ReportEarlyExit(EarlyExit::kInvalidHp, message);
  };
  parts.report_failure = [client](const std::string& message) {
    client->StopRetrying();  // The peers wait for this process to end.
    client->ReportEarlyExit(EarlyExit::kFailed, message);
  };
  return parts;
}

}  // namespace det::core
