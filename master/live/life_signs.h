// LifeSigns: when unmanaged trials last reported something. Kept in memory, because trials report
// more often than the signs need to be stored; the check for lost trials stores them
// (app/lost_trials.h). Any thread.
#ifndef MASTER_LIVE_LIFE_SIGNS_H_
#define MASTER_LIVE_LIFE_SIGNS_H_

#include <map>
#include <mutex>
#include <utility>

#include "absl/time/time.h"
#include "master/core/model/ids.h"

namespace det::live {

class LifeSigns {
 public:
  void Record(model::TrialId trial, absl::Time at) {
    std::lock_guard lock(mutex_);
    signs_[trial] = at;
  }

  // Returns the signs since the last call.
  std::map<model::TrialId, absl::Time> Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(signs_, {});
  }

 private:
  std::mutex mutex_;
  std::map<model::TrialId, absl::Time> signs_;
};

}  // namespace det::live

#endif  // MASTER_LIVE_LIFE_SIGNS_H_
