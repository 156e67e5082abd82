#include "master/api/cluster/overview_board.h"

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"
#include "master/api/common/convert.h"
#include "master/api/common/convert_resources.h"

namespace det::api {
namespace {

constexpr absl::Duration kRefreshInterval = absl::Seconds(1);
constexpr int kMaxRunning = 50;
constexpr int kMaxEnded = 12;

void CountSlots(const cluster::Cluster& cluster, v1::GetOverviewResponse* out) {
  for (v1::ResourcePool& pool : ListPools(cluster)) {
    out->set_agents(out->agents() + pool.num_agents());
    out->set_slots(out->slots() + pool.slots_available());
    out->set_slots_in_use(out->slots_in_use() + pool.slots_used());
    *out->add_pools() = std::move(pool);
  }
}

// Each task that is not a trial is a separate job.
void CountTasks(const cluster::Cluster& cluster, v1::GetOverviewResponse* out) {
  for (const experiment::Task* task : cluster.live_tasks()) {
    const experiment::Allocation* allocation =
        task->allocation ? cluster.FindAllocation(*task->allocation) : nullptr;
    if (allocation == nullptr) continue;
    if (allocation->state == model::AllocationState::kQueued) {
      out->set_jobs_waiting(out->jobs_waiting() + 1);
    } else {
      out->set_jobs_running(out->jobs_running() + 1);
    }
  }
}

void CountJobs(const LiveTrials& live, v1::GetOverviewResponse* out) {
  std::set<model::ExperimentId> all, running;
  for (const auto& [id, trial] : live) {
    all.insert(trial.experiment);
    if (trial.state != model::AllocationState::kQueued) running.insert(trial.experiment);
  }
  const int num_running = static_cast<int>(running.size());
  out->set_jobs_running(out->jobs_running() + num_running);
  out->set_jobs_waiting(out->jobs_waiting() + static_cast<int>(all.size()) - num_running);
}

}  // namespace

void OverviewBoard::Join(Visible visible, bool follow, std::shared_ptr<Stream<Response>> stream) {
  int64_t id = 0;
  bool fresh = false, idle = false;
  {
    std::lock_guard lock(mutex_);
    id = ++last_stream_id_;
    Audience& audience = audiences_[visible];
    audience.streams.emplace(id, stream);
    fresh = audience.latest == nullptr;
    idle = !std::exchange(refreshing_, true);
  }
  auto sent = std::make_shared<OverviewPtr>();
  stream->Start(
      [self = shared_from_this(), visible, follow, sent](Stream<Response>& out) {
        const OverviewPtr latest = self->GetLatest(visible);
        if (latest == nullptr || latest == *sent) return;
        *sent = latest;
        out.Send(latest);
        if (!follow) out.Close(absl::OkStatus());
      },
      [self = shared_from_this(), visible, id] { self->Leave(visible, id); });
  if (idle) {
    Refresh({}, /*repeat=*/true);
  } else if (fresh) {
    Refresh({visible}, /*repeat=*/false);
  }
}

void OverviewBoard::Leave(const Visible& visible, int64_t id) {
  std::lock_guard lock(mutex_);
  const auto it = audiences_.find(visible);
  if (it != audiences_.end()) it->second.streams.erase(id);
}

OverviewBoard::OverviewPtr OverviewBoard::GetLatest(const Visible& visible) {
  std::lock_guard lock(mutex_);
  const auto it = audiences_.find(visible);
  return it == audiences_.end() ? nullptr : it->second.latest;
}

void OverviewBoard::Refresh(std::vector<Visible> audiences, bool repeat) {
  auto cluster = std::make_shared<Response>();
  const auto then = [self = shared_from_this(), repeat] {
    if (repeat) self->ScheduleRefresh();
  };
  engine_.Query(
      [cluster](const cluster::Cluster& now) {
        CountSlots(now, cluster.get());
        CountTasks(now, cluster.get());
      },
      [self = shared_from_this(), cluster, audiences = std::move(audiences),
       then](const absl::Status& status) {
        if (!status.ok()) {
          self->FailWaiting(status);
          return then();
        }
        QueryLiveTrials(self->engine_, self->pool_, std::nullopt,
                        [self, cluster, audiences, then](const absl::StatusOr<LiveTrials>& live) {
                          if (live.ok()) {
                            self->Publish(*cluster, *live, audiences);
                          } else {
                            self->FailWaiting(live.status());
                          }
                          then();
                        });
      });
}

void OverviewBoard::ScheduleRefresh() {
  loop_.PostAfter(kRefreshInterval, [self = shared_from_this()] {
    {
      std::lock_guard lock(self->mutex_);
      std::erase_if(self->audiences_, [](const auto& each) { return each.second.streams.empty(); });
      if (self->audiences_.empty()) {
        self->refreshing_ = false;
        return;
      }
    }
    self->Refresh({}, /*repeat=*/true);
  });
}

void OverviewBoard::Publish(const Response& cluster, const LiveTrials& live,
                            std::vector<Visible> audiences) {
  if (audiences.empty()) {
    std::lock_guard lock(mutex_);
    for (const auto& [visible, audience] : audiences_) audiences.push_back(visible);
  }
  for (const Visible& visible : audiences) {
    absl::StatusOr<Response> made = Build(cluster, live, visible);
    if (!made.ok()) return FailWaiting(made.status());
    std::lock_guard lock(mutex_);
    const auto it = audiences_.find(visible);
    if (it == audiences_.end()) continue;
    Audience& audience = it->second;
    using google::protobuf::util::MessageDifferencer;
    if (audience.latest && MessageDifferencer::Equals(*audience.latest, *made)) continue;
    audience.latest = std::make_shared<const Response>(*std::move(made));
    for (const auto& [id, weak] : audience.streams) {
      if (const auto stream = weak.lock()) stream->Wake();
    }
  }
}

void OverviewBoard::FailWaiting(const absl::Status& why) {
  std::vector<std::shared_ptr<Stream<Response>>> waiting;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [visible, audience] : audiences_) {
      if (audience.latest != nullptr) continue;
      for (const auto& [id, weak] : audience.streams) {
        if (auto stream = weak.lock()) waiting.push_back(std::move(stream));
      }
    }
  }
  for (const auto& stream : waiting) stream->Close(why);
}

absl::StatusOr<OverviewBoard::Response> OverviewBoard::Build(const Response& cluster,
                                                             const LiveTrials& live,
                                                             const Visible& visible) const {
  using enum model::ExperimentState;
  store::ExperimentQuery running;
  running.window = ToWindow(0, kMaxRunning);
  running.descending = true;
  running.visible = visible;
  running.states = {kActive, kPaused, kStoppingCompleted, kStoppingCanceled, kStoppingError};
  store::ExperimentQuery ended = running;
  ended.window = ToWindow(0, kMaxEnded);
  ended.sort = store::ExperimentQuery::Sort::kEndTime;
  ended.states = {kCompleted, kCanceled, kError};
  DET_ASSIGN_OR_RETURN(const store::ExperimentPage now, store_.ListExperiments(running));
  DET_ASSIGN_OR_RETURN(const store::ExperimentPage before, store_.ListExperiments(ended));
  Response out = cluster;
  CountJobs(live, &out);
  const auto add = [&](const store::ExperimentRecord& record, v1::Experiment* to) {
    *to = ToProto(record, live, clock_.Now(), /*detail=*/false);
    to->clear_duration();
    to->clear_notes();
  };
  for (const store::ExperimentRecord& record : now.experiments) add(record, out.add_running());
  for (const store::ExperimentRecord& record : before.experiments) add(record, out.add_ended());
  return out;
}

}  // namespace det::api
