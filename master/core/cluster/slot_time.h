// Slot-seconds of the current month (UTC) by user and by workspace, which quotas limit. Part of the
// cluster's memory; derived from rows.
//
// Private to this folder. PURE.
#ifndef MASTER_CORE_CLUSTER_SLOT_TIME_H_
#define MASTER_CORE_CLUSTER_SLOT_TIME_H_

#include <map>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "master/core/cluster/image.h"
#include "master/core/model/ids.h"
#include "master/core/model/resource_pool.h"

namespace det::cluster {

absl::Time GetMonthStart(absl::Time time);  // its first moment
absl::Time GetNextMonthStart(absl::Time time);

class SlotTime {
 public:
  SlotTime() = default;
  // Starts from the usage of ended runs.
  explicit SlotTime(const Usage& usage);

  // Adds a run that holds `slots` slots from `started` on.
  void Begin(const model::AllocationId& id, const std::string& user, const std::string& workspace,
             double slots, absl::Time started);
  // Counts the whole run for another workspace.
  void Move(const model::AllocationId& id, const std::string& workspace);
  void End(const model::AllocationId& id, absl::Time ended);
  // Returns the slot-hours used up to `now` in the month of `now`, running gangs included.
  double Hours(model::Quota::Scope scope, const std::string& name, absl::Time now) const;

 private:
  struct Run {
    std::string user;
    std::string workspace;
    double slots = 0;
    absl::Time started;
  };
  // The usage of one user or workspace in month_. The running slots have used slots * seconds since
  // the month began, less `before`: what they would have used before they started.
  struct Sum {
    double ended = 0;
    double slots = 0;
    double before = 0;
    double At(double seconds) const { return ended + slots * seconds - before; }
  };
  using Key = std::pair<model::Quota::Scope, std::string>;

  // Advances to the month of `time` if it is later than month_.
  void Roll(absl::Time time);
  double Seconds(absl::Time time) const;  // since the month began; 0 for what was before
  void Add(const Run& run, double sign);

  absl::Time month_ = absl::UnixEpoch();
  std::map<Key, Sum> sums_;
  std::map<model::AllocationId, Run> runs_;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_SLOT_TIME_H_
