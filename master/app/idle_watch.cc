#include "master/app/idle_watch.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "master/parse/command.h"

namespace det::app {
namespace {

bool CanBeIdle(const experiment::Task& task) {
  return (task.kind == model::TaskKind::kNotebook || task.kind == model::TaskKind::kTensorboard) &&
         task.definition->idle_timeout && task.service_port &&
         task.state == model::TaskState::kRunning;
}

}  // namespace

void IdleWatch::Start() { Schedule(); }

void IdleWatch::Schedule() {
  parts_.loop->PostAfter(kInterval, [this] {
    auto kills = std::make_shared<std::vector<cluster::KillTasks>>();
    parts_.engine->Query(
        [this, kills](const cluster::Cluster& cluster) {
          *kills = Check(cluster.live_tasks(), parts_.loop->Now());
        },
        [this, kills](const absl::Status&) {
          for (cluster::KillTasks& kill : *kills) {
            const std::string task = kill.ids.front().value();
            // The next check repeats a kill that failed.
            parts_.engine->Submit(
                std::move(kill), [task](const absl::StatusOr<engine::Applied>& applied) {
                  if (applied.ok()) return;
                  DET_LOG(WARNING) << "failed to kill an idle task" << base::Field("task", task)
                                   << base::Field("reason", applied.status().message());
                });
          }
          Schedule();
        });
  });
}

std::vector<cluster::KillTasks> IdleWatch::Check(const std::vector<const experiment::Task*>& live,
                                                 absl::Time now) {
  std::map<model::TaskId, absl::Time> ready;
  std::vector<cluster::KillTasks> kills;
  for (const experiment::Task* task : live) {
    if (!CanBeIdle(*task)) continue;
    const auto known = ready_.find(task->id);
    const absl::Time since = known == ready_.end() ? now : known->second;
    ready.emplace(task->id, since);
    const absl::Time last = std::max(since, parts_.activity->Last(task->id).value_or(since));
    const absl::Duration timeout = *task->definition->idle_timeout;
    if (now - last < timeout) continue;
    kills.push_back(
        {{task->id}, absl::StrCat("idle for more than ", model::FormatIdleTimeout(timeout))});
  }
  std::set<model::TaskId> watched;
  for (const auto& [task, since] : ready) watched.insert(task);
  parts_.activity->Retain(watched);
  ready_ = std::move(ready);
  return kills;
}

}  // namespace det::app
