#include "master/app/lost_trials.h"

#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "master/core/experiment/detached.h"

namespace det::app {
namespace {

constexpr int kBatchSize = 100;  // trials that are ended before their watchers are notified

}  // namespace

void LostTrials::Start() {
  counted_from_ = checked_at_ = parts_.loop->Now();
  Schedule();
}

void LostTrials::Schedule() {
  parts_.loop->PostAfter(kInterval, [this] {
    parts_.pool->Post([this, now = parts_.loop->Now()] {
      Check(now);
      parts_.loop->Post([this] { Schedule(); });
    });
  });
}

void LostTrials::Check(absl::Time now) {
  if (now - checked_at_ > 2 * kInterval) counted_from_ = now;  // this machine was suspended
  checked_at_ = now;
  const absl::Status checked = CheckStore(now);
  if (checked.ok()) return;
  counted_from_ = now;
  DET_LOG(WARNING) << "failed to check for lost trials" << base::Field("reason", checked.message());
}

absl::Status LostTrials::CheckStore(absl::Time now) {
  for (const auto& [trial, at] : parts_.signs->Take()) unsaved_[trial] = at;
  if (!unsaved_.empty()) {
    DET_RETURN_IF_ERROR(parts_.store->detached().RecordActivity(unsaved_));
    unsaved_.clear();
  }
  // The query also finds out whether the database can be reached.
  const bool counts = now - counted_from_ >= experiment::kLostAfter;
  const absl::Time before = counts ? now - experiment::kLostAfter : absl::UnixEpoch();
  while (true) {
    DET_ASSIGN_OR_RETURN(const std::vector<model::ExperimentId> changed,
                         parts_.store->detached().EndLostTrials(before, now, kBatchSize));
    if (changed.empty()) return absl::OkStatus();
    parts_.loop->Post([this, changed] {
      for (const model::ExperimentId id : changed) parts_.experiments->Changed(id);
      parts_.webhooks->Wake();
    });
  }
}

}  // namespace det::app
