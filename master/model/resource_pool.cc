#include "master/model/resource_pool.h"

namespace det::model {
namespace {

template <class Enum>
struct Name {
  Enum value;
  std::string_view text;
};

constexpr Name<SchedulingPolicy> kPolicies[] = {
    {SchedulingPolicy::kPriority, "priority"},
    {SchedulingPolicy::kFairShare, "fair_share"},
    {SchedulingPolicy::kFifo, "fifo"},
};

constexpr Name<FittingPolicy> kFittings[] = {
    {FittingPolicy::kBest, "best"},
    {FittingPolicy::kWorst, "worst"},
};

template <class Names, class Enum>
std::string_view TextOf(const Names& names, Enum value) {
  for (const auto& name : names) {
    if (name.value == value) return name.text;
  }
  return "";
}

template <class Enum, class Names>
std::optional<Enum> ValueOf(const Names& names, std::string_view text) {
  for (const auto& name : names) {
    if (name.text == text) return name.value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view ToString(SchedulingPolicy policy) { return TextOf(kPolicies, policy); }
std::string_view ToString(FittingPolicy policy) { return TextOf(kFittings, policy); }
std::optional<SchedulingPolicy> ParseSchedulingPolicy(std::string_view text) {
  return ValueOf<SchedulingPolicy>(kPolicies, text);
}
std::optional<FittingPolicy> ParseFittingPolicy(std::string_view text) {
  return ValueOf<FittingPolicy>(kFittings, text);
}

}  // namespace det::model
