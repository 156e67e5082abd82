#include "master/api/common/live_trials.h"

#include <memory>
#include <utility>

namespace det::api {
namespace {

LiveTrials CollectLiveTrials(const cluster::Cluster& cluster,
                             std::optional<model::ExperimentId> experiment) {
  LiveTrials live;
  for (const experiment::Allocation* allocation :
       experiment ? cluster.live_allocations(*experiment) : cluster.live_allocations()) {
    const experiment::Trial* trial = cluster.FindTrial(allocation->trial);
    if (trial == nullptr) continue;
    LiveTrial& entry = live[allocation->trial];
    entry.experiment = trial->experiment;
    entry.allocation = allocation->id;
    entry.state = allocation->state;
    const std::optional<scheduler::WaitReason> reason = cluster.FindWaitReason(allocation->id);
    if (reason) entry.wait_reason = reason->text;
  }
  return live;
}

}  // namespace

void QueryLiveTrials(engine::Engine& engine, base::ThreadPool& pool,
                     std::optional<model::ExperimentId> experiment,
                     absl::AnyInvocable<void(absl::StatusOr<LiveTrials>)> then,
                     absl::AnyInvocable<void(const cluster::Cluster&)> read) {
  auto live = std::make_shared<LiveTrials>();
  engine.Query(
      [live, experiment, read = std::move(read)](const cluster::Cluster& cluster) mutable {
        *live = CollectLiveTrials(cluster, experiment);
        if (read) read(cluster);
      },
      [&pool, live, then = std::move(then)](const absl::Status& status) mutable {
        pool.Post([live, status, then = std::move(then)]() mutable {
          if (status.ok()) {
            then(std::move(*live));
          } else {
            then(status);
          }
        });
      });
}

}  // namespace det::api
