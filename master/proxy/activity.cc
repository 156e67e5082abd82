#include "master/proxy/activity.h"

namespace det::proxy {

void Activity::Touch(const model::TaskId& task) {
  const absl::Time now = clock_.Now();
  std::lock_guard lock(mutex_);
  last_[task] = now;
}

std::optional<absl::Time> Activity::Last(const model::TaskId& task) const {
  std::lock_guard lock(mutex_);
  const auto found = last_.find(task);
  if (found == last_.end()) return std::nullopt;
  return found->second;
}

void Activity::Retain(const std::set<model::TaskId>& tasks) {
  std::lock_guard lock(mutex_);
  std::erase_if(last_, [&](const auto& each) { return !tasks.contains(each.first); });
}

}  // namespace det::proxy
