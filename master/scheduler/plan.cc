#include "master/scheduler/plan.h"

namespace det::scheduler {

std::string_view ToString(WaitReason::Kind kind) {
  switch (kind) {
    case WaitReason::Kind::kNoCapacity:
      return "NO_CAPACITY";
    case WaitReason::Kind::kInfeasible:
      return "INFEASIBLE";
    case WaitReason::Kind::kOverMaxSlots:
      return "OVER_MAX_SLOTS";
    case WaitReason::Kind::kOverMaxTrials:
      return "OVER_MAX_TRIALS";
    case WaitReason::Kind::kOverQuota:
      return "OVER_QUOTA";
    case WaitReason::Kind::kNotBound:
      return "NOT_BOUND";
    case WaitReason::Kind::kBehindOthers:
      return "BEHIND_OTHERS";
    case WaitReason::Kind::kAwaitingPreemption:
      return "AWAITING_PREEMPTION";
    case WaitReason::Kind::kMaintenance:
      return "MAINTENANCE";
  }
  return "";
}

}  // namespace det::scheduler
