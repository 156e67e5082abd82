#include "master/core/model/resource_pool.h"

#include "master/core/model/names.h"

namespace det::model {
namespace {

constexpr Name<SchedulingPolicy> kPolicies[] = {
    {SchedulingPolicy::kPriority, "priority"},
    {SchedulingPolicy::kFairShare, "fair_share"},
    {SchedulingPolicy::kFifo, "fifo"},
};

constexpr Name<FittingPolicy> kFittings[] = {
    {FittingPolicy::kBest, "best"},
    {FittingPolicy::kWorst, "worst"},
};

}  // namespace

std::string_view ToString(SchedulingPolicy policy) { return TextOf(kPolicies, policy); }
std::string_view ToString(FittingPolicy policy) { return TextOf(kFittings, policy); }
std::optional<SchedulingPolicy> ParseSchedulingPolicy(std::string_view text) {
  return ValueOf(kPolicies, text);
}
std::optional<FittingPolicy> ParseFittingPolicy(std::string_view text) {
  return ValueOf(kFittings, text);
}

}  // namespace det::model
