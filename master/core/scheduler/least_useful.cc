#include "master/core/scheduler/least_useful.h"

#include <algorithm>
#include <tuple>

#include "master/core/scheduler/state.h"

namespace det::scheduler {

bool LeastUseful::operator()(const GangState* a, const GangState* b) const {
  if (a == b) return false;
  const auto key = [](const GangState* g) {
    const bool above_minimum = g->slots() > std::max(1, g->gang->slots);
    return std::tuple(*g->victim_priority, above_minimum, g->saved_at, g->started_at,
                      g->gang->submitted);
  };
  const auto ka = key(a);
  const auto kb = key(b);
  if (ka != kb) return ka > kb;
  return a->gang->id > b->gang->id;
}

}  // namespace det::scheduler
