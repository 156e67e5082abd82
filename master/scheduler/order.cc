#include "master/scheduler/order.h"

#include <algorithm>
#include <tuple>

namespace det::scheduler {

std::vector<const Gang*> WaitingInOrder(const Snapshot& snapshot) {
  std::vector<const Gang*> waiting;
  for (const Gang& gang : snapshot.gangs) {
    if (gang.running_on.empty()) waiting.push_back(&gang);
  }
  std::sort(waiting.begin(), waiting.end(), [](const Gang* a, const Gang* b) {
    return std::tie(a->priority, a->submitted, a->id) < std::tie(b->priority, b->submitted, b->id);
  });
  return waiting;
}

}  // namespace det::scheduler
