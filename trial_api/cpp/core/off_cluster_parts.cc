#include <chrono>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "trial_api/cpp/core/checkpoints.h"
#include "trial_api/cpp/core/cluster_metrics.h"
#include "trial_api/cpp/core/cluster_preemption.h"
#include "trial_api/cpp/core/context_parts.h"
#include "trial_api/cpp/core/environment.h"
#include "trial_api/cpp/core/exchange.h"
#include "trial_api/cpp/core/gloo_communicator.h"
#include "trial_api/cpp/core/mirrored_metrics.h"
#include "trial_api/cpp/core/off_cluster_config.h"
#include "trial_api/cpp/core/printed_metrics.h"
#include "trial_api/cpp/core/sampling_profiler.h"
#include "trial_api/cpp/core/single_communicator.h"
#include "trial_api/cpp/core/tensorboard_folder.h"
#include "trial_api/cpp/core/training_config.h"

namespace det::core {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
constexpr std::chrono::seconds kRendezvousTimeout(60);

std::unique_ptr<Communicator> Connect(const Ranks& ranks) {
  if (ranks.size == 1) return MakeSingleCommunicator();
  const auto exchange = MakeDirectoryExchange(RequireEnv("DET_RENDEZVOUS_DIR"), kRendezvousTimeout);
  return ConnectGloo(ranks, kLoopback, *exchange);
}

}  // namespace

ContextParts GatherOffClusterParts(const Context::OffCluster& off_cluster, const Ranks& ranks) {
  const OffClusterConfig config =
      ReadOffClusterConfig(off_cluster.config_path, off_cluster.hparams_json);
  const TrainingConfig training = ParseTrainingConfig(config.config_json);
  ContextParts parts;
  parts.seed = off_cluster.seed.value_or(config.seed);
  parts.config_json = config.config_json;
  parts.max_length = off_cluster.max_length;
  parts.hparams = Hparams(config.hparams_json);
  parts.communicator = Connect(ranks);
  const bool is_chief = parts.communicator->ranks().is_chief();
  parts.tensorboard = MakeTensorboard(TensorboardFolder("tensorboard", parts.communicator->ranks()),
                                      {}, SecondsNow);
  parts.metrics = is_chief
                      ? MakeMirroredMetrics(MakePrintedMetrics(std::cout, training.searcher_metric,
                                                               training.smaller_is_better),
                                            parts.tensorboard.get())
                      : MakeSilentMetrics();
  parts.preemption = MakeNoPreemption();
  parts.profiler = MakeNoProfiler();
  const std::string dir =
      off_cluster.checkpoint_dir.empty() ? "checkpoints" : off_cluster.checkpoint_dir;
  // Runs off the cluster may share a directory without knowing of each other, so they have no
  // owner: leftovers cannot be distinguished from files that another run is writing.
  parts.checkpoints =
      MakeCheckpoints(parts.communicator.get(), storage::MakeSharedFs(dir, ""),
                      {.uuid = off_cluster.restore}, [dir](const CheckpointReport& checkpoint) {
                        // Written with one call, because the training thread prints metrics.
                        std::ostringstream line;
                        line << "checkpoint steps=" << checkpoint.steps_completed << ' ' << dir
                             << '/' << checkpoint.uuid << '\n';
                        std::cout << line.str() << std::flush;
                      });
  parts.report_invalid_hp = [](const std::string& message) {
    std::cerr << "ERROR: invalid hyperparameters: " << message << std::endl;
  };
  return parts;
}

}  // namespace det::core
