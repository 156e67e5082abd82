#include "master/service/experience.h"

#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "master/model/id_text.h"

namespace det::service {
namespace {

constexpr size_t kMostJobs = 48;
constexpr int kTrialsOfJob = 8;

absl::StatusOr<absl::Duration> TimeOnSlots(store::Store& store, const experiment::Trial& trial) {
  DET_ASSIGN_OR_RETURN(const std::vector<experiment::Allocation> runs,
                       store.ListAllocations(trial.task));
  absl::Duration sum;
  for (const experiment::Allocation& run : runs) {
    if (run.started_at && run.ended_at) sum += *run.ended_at - *run.started_at;
  }
  return sum;
}

absl::StatusOr<std::optional<absl::Duration>> MeanOf(store::Store& store, model::ExperimentId id) {
  DET_ASSIGN_OR_RETURN(const store::TrialPage page,
                       store.ListTrials({.experiment = id,
                                         .window = {.offset = 0, .limit = kTrialsOfJob},
                                         .sort = store::TrialQuery::Sort::kEndTime,
                                         .descending = true,
                                         .states = {model::TrialState::kCompleted}}));
  if (page.trials.empty()) return std::optional<absl::Duration>();
  absl::Duration sum;
  for (const store::TrialRecord& record : page.trials) {
    DET_ASSIGN_OR_RETURN(const absl::Duration time, TimeOnSlots(store, record.trial));
    sum += time;
  }
  return std::optional<absl::Duration>(sum / static_cast<int64_t>(page.trials.size()));
}

}  // namespace

absl::StatusOr<scheduler::Experience> ReadExperience(store::Store& store,
                                                     const scheduler::Snapshot& snapshot) {
  std::map<model::JobId, std::optional<absl::Duration>> known;
  for (const bool running : {true, false}) {
    for (const scheduler::Gang& gang : snapshot.gangs) {
      if (gang.running_on.empty() == running || known.contains(gang.job)) continue;
      if (known.size() >= kMostJobs) break;
      const std::optional<model::ExperimentId> id = model::ExperimentOf(gang.job);
      if (!id) continue;
      DET_ASSIGN_OR_RETURN(known[gang.job], MeanOf(store, *id));
    }
  }
  scheduler::Experience experience;
  for (const auto& [job, mean] : known) {
    if (mean) experience.emplace(job, *mean);
  }
  return experience;
}

}  // namespace det::service
