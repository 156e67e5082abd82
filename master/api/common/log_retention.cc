#include "master/api/common/log_retention.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

constexpr int kForever = -1;

absl::Status CheckDays(int days) {
  constexpr int kMaxDays = 32'767;
  if (days <= kMaxDays) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("num_days: ", days, " is more than ", kMaxDays,
                                                 "; use -1 to keep logs forever"));
}

}  // namespace

absl::Status SetLogRetention(store::Store& store, model::ExperimentId id, int days) {
  DET_RETURN_IF_ERROR(CheckDays(days));
  if (days < kForever) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_days: ", days, " is negative; use -1 to keep logs forever"));
  }
  return store.garbage_collection().SetExperimentLogDays(id, days);
}

absl::Status SetLogRetention(store::Store& store, model::TrialId id, int days) {
  DET_RETURN_IF_ERROR(CheckDays(days));
  return store.garbage_collection().SetTrialLogDays(id, std::max(days, kForever));
}

std::optional<int> ComputeDaysLeft(int days, std::optional<absl::Time> ended_at, absl::Time now) {
  if (days < 0) return kForever;
  if (!ended_at) return std::nullopt;
  constexpr absl::Duration kDay = absl::Hours(24);
  const absl::Duration left = *ended_at + days * kDay - now;
  return std::clamp<int>(static_cast<int>(absl::Ceil(left, kDay) / kDay), 0, days);
}

}  // namespace det::api
