#include "master/api/queue/runtime_stats.h"

#include <optional>
#include <set>

#include "base/status_macros.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

constexpr size_t kMaxJobs = 48;
constexpr int kMaxTrialsPerJob = 8;

}  // namespace

absl::StatusOr<scheduler::RuntimeStats> ReadRuntimeStats(store::Store& store,
                                                         const scheduler::Snapshot& snapshot) {
  std::set<model::ExperimentId> jobs;
  for (const bool running : {true, false}) {
    for (const scheduler::Gang& gang : snapshot.gangs) {
      if (gang.running_on.empty() == running) continue;
      if (jobs.size() >= kMaxJobs) break;
      const std::optional<model::ExperimentId> id = model::ParseJobId(gang.job);
      if (id) jobs.insert(*id);
    }
  }
  DET_ASSIGN_OR_RETURN(const auto means,
                       store.GetMeanRunTimes({jobs.begin(), jobs.end()}, kMaxTrialsPerJob));
  scheduler::RuntimeStats stats;
  for (const auto& [id, mean] : means) stats.emplace(model::ToJobId(id), mean);
  return stats;
}

}  // namespace det::api
