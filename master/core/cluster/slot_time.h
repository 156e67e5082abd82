// Slot-seconds of the present month (UTC), by user and by workspace: what quotas are about. Part of
// the cluster's memory; derived from rows.
//
// Included by this folder's sources alone. PURE.
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

absl::Time MonthOf(absl::Time time);  // its first moment
absl::Time NextMonthOf(absl::Time time);

class SlotTime {
 public:
  SlotTime() = default;
  // What the runs that have ended used.
  explicit SlotTime(const Usage& usage);

  // A run holds this many slots from `started` on.
  void Begin(const model::AllocationId& id, const std::string& user, const std::string& workspace,
             double slots, absl::Time started);
  // It counts for another workspace from its beginning.
  void Move(const model::AllocationId& id, const std::string& workspace);
  void End(const model::AllocationId& id, absl::Time ended);
  // Used up to `now` in the month of `now`, in hours; running gangs included.
  double Hours(model::Quota::Scope scope, const std::string& name, absl::Time now) const;

 private:
  struct Run {
    std::string user, workspace;
    double slots = 0;
    absl::Time started;
  };
  // Of one user or workspace, in month_. The slots that run now have used slots * seconds since the
  // month began, less `before`: what they would have used before they started.
  struct Sum {
    double ended = 0;
    double slots = 0;
    double before = 0;
    double At(double seconds) const { return ended + slots * seconds - before; }
  };
  using Key = std::pair<model::Quota::Scope, std::string>;

  // Into the month of `time`, if that is a later one.
  void Roll(absl::Time time);
  double Seconds(absl::Time time) const;  // since the month began; 0 for what was before
  void Add(const Run& run, double sign);

  absl::Time month_ = absl::UnixEpoch();
  std::map<Key, Sum> sums_;
  std::map<model::AllocationId, Run> runs_;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_SLOT_TIME_H_
