#include "master/api/queue/runtime_stats.h"

#include <optional>
#include <set>

#include "base/status_macros.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

constexpr size_t kMostJobs = 48;
constexpr int kTrialsOfJob = 8;

}  // namespace

absl::StatusOr<scheduler::Experience> ReadExperience(store::Store& store,
                                                     const scheduler::Snapshot& snapshot) {
  std::set<model::ExperimentId> jobs;
  for (const bool running : {true, false}) {
    for (const scheduler::Gang& gang : snapshot.gangs) {
      if (gang.running_on.empty() == running) continue;
      if (jobs.size() >= kMostJobs) break;
      const std::optional<model::ExperimentId> id = model::ExperimentOf(gang.job);
      if (id) jobs.insert(*id);
    }
  }
  DET_ASSIGN_OR_RETURN(const auto means,
                       store.MeanRunTimes({jobs.begin(), jobs.end()}, kTrialsOfJob));
  scheduler::Experience experience;
  for (const auto& [id, mean] : means) experience.emplace(model::JobOf(id), mean);
  return experience;
}

}  // namespace det::api
