#include "trial_api/cpp/core/context.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/context_parts.h"
#include "trial_api/cpp/core/environment.h"
#include "trial_api/cpp/core/off_cluster_config.h"
#include "trial_api/cpp/core/training_config.h"

namespace det {
namespace core {
namespace {

class PartsContext final : public Context {
 public:
  explicit PartsContext(ContextParts parts)
      : parts_(std::move(parts)),
        training_(ParseTrainingConfig(parts_.config_json)),
        data_json_(TopLevelField(parts_.config_json, "data")) {
    if (parts_.max_length) training_.max_length = parts_.max_length;
    training_.validate_at = parts_.validate_at;
  }

  bool on_cluster() const override { return parts_.on_cluster; }
  int experiment_id() const override { return parts_.experiment_id; }
  int trial_id() const override { return parts_.trial_id; }
  uint32_t seed() const override { return parts_.seed; }
  bool warm_start() const override { return parts_.warm_start; }
  const Hparams& hparams() const override { return parts_.hparams; }
  const TrainingConfig& training() const override { return training_; }
  std::string config_json() const override { return parts_.config_json; }
  std::string data_json() const override { return data_json_; }
  const Ranks& ranks() const override { return parts_.communicator->ranks(); }
  Communicator& communicator() override { return *parts_.communicator; }
  Metrics& metrics() override { return *parts_.metrics; }
  Checkpoints& checkpoints() override { return *parts_.checkpoints; }
  Preemption& preemption() override { return *parts_.preemption; }
  Tensorboard& tensorboard() override { return *parts_.tensorboard; }
  Profiler& profiler() override { return *parts_.profiler; }
  void ReportInvalidHp(const std::string& message) override { parts_.report_invalid_hp(message); }
  void ReportFailure(const std::string& message) override {
    if (!parts_.report_failure) return;
    try {
      parts_.report_failure("rank " + std::to_string(ranks().rank) + " failed: " + message);
    } catch (const Error& error) {
      // The process fails anyway, and the launcher reports that.
      std::fprintf(stderr, "WARNING: %s\n", error.what());
    }
  }

 private:
  const ContextParts parts_;
  TrainingConfig training_;
  const std::string data_json_;
};

}  // namespace

std::unique_ptr<Context> MakeContext(ContextParts parts) {
  return std::make_unique<PartsContext>(std::move(parts));
}

}  // namespace core

std::vector<Ranks> Context::RanksOfProcess(const OffCluster& off_cluster) {
  const Ranks own = core::RanksFromEnvironment();
  if (own.local_size == 1) return {own};
  const std::string config =
      core::OnCluster()
          ? core::ClusterConfigJson()
          : core::ReadOffClusterConfig(off_cluster.config_path, off_cluster.hparams_json)
                .config_json;
  if (!core::IsInProcess(config)) return {own};
  std::vector<Ranks> ranks;
  if (own.local_rank > 0) return ranks;
  for (int local = 0; local < own.local_size; ++local) {
    ranks.push_back(own);
    ranks.back().rank += local;
    ranks.back().local_rank = local;
  }
  return ranks;
}

std::unique_ptr<Context> Context::FromEnvironment(const OffCluster& off_cluster,
                                                  const Ranks& ranks) {
  return core::MakeContext(core::OnCluster() ? core::GatherClusterParts(ranks)
                                             : core::GatherOffClusterParts(off_cluster, ranks));
}

std::unique_ptr<Context> Context::FromEnvironment(const OffCluster& off_cluster) {
  return FromEnvironment(off_cluster, core::RanksFromEnvironment());
}

}  // namespace det
