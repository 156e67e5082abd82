// When each task was last used through the proxy, for idle timeouts.
//
// In memory only: after a restart of the master, a task counts as unused until its next request.
// Written by the proxy, read by the idle watcher; any thread.
#ifndef MASTER_PROXY_ACTIVITY_H_
#define MASTER_PROXY_ACTIVITY_H_

#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "absl/time/time.h"
#include "base/clock.h"
#include "master/core/model/ids.h"

namespace det::proxy {

class Activity {
 public:
  // `clock` must outlive it.
  explicit Activity(const base::Clock* clock) : clock_(*clock) {}

  // A request to the task was allowed now.
  void Touch(const model::TaskId& task);
  // The time of the last request; nullopt if there was none.
  std::optional<absl::Time> Last(const model::TaskId& task) const;
  // Forgets all other tasks. Must be called now and then, so that the table does not grow without
  // limit.
  void Retain(const std::set<model::TaskId>& tasks);

 private:
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::map<model::TaskId, absl::Time> last_;
};

}  // namespace det::proxy

#endif  // MASTER_PROXY_ACTIVITY_H_
