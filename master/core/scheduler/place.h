// A place in the queue of a pool, to be kept after the pass that found it.
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_PLACE_H_
#define MASTER_CORE_SCHEDULER_PLACE_H_

#include <compare>
#include <cstdint>
#include <string>

namespace det::scheduler {

// Where a gang stands in the order. Smaller goes first.
struct Place {
  double workspace_share = 0;  // under fair share
  std::string workspace;
  double user_share = 0;
  std::string user;
  double job_share = 0;
  int priority = 0;
  double position = 0;
  int64_t submitted = 0;
  std::string id;
  friend auto operator<=>(const Place&, const Place&) = default;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_PLACE_H_
