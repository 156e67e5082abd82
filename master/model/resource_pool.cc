#include "master/model/resource_pool.h"

namespace det::model {

std::string_view ToString(SchedulingPolicy policy) {
  switch (policy) {
    case SchedulingPolicy::kPriority:
      return "priority";
    case SchedulingPolicy::kFairShare:
      return "fair_share";
    case SchedulingPolicy::kFifo:
      return "fifo";
  }
  return "";
}

std::string_view ToString(FittingPolicy policy) {
  switch (policy) {
    case FittingPolicy::kBest:
      return "best";
    case FittingPolicy::kWorst:
      return "worst";
  }
  return "";
}

std::optional<SchedulingPolicy> ParseSchedulingPolicy(std::string_view text) {
  for (const auto policy :
       {SchedulingPolicy::kPriority, SchedulingPolicy::kFairShare, SchedulingPolicy::kFifo}) {
    if (text == ToString(policy)) return policy;
  }
  return std::nullopt;
}

std::optional<FittingPolicy> ParseFittingPolicy(std::string_view text) {
  for (const auto policy : {FittingPolicy::kBest, FittingPolicy::kWorst}) {
    if (text == ToString(policy)) return policy;
  }
  return std::nullopt;
}

}  // namespace det::model
