#include "master/core/scheduler/state.h"

namespace det::scheduler {

bool operator<(const OrderKey& a, const OrderKey& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.position != b.position) return a.position < b.position;
  if (a.submitted != b.submitted) return a.submitted < b.submitted;
  return a.gang != b.gang && a.gang->gang->id < b.gang->gang->id;
}

bool JobQueue::BySubmission::operator()(const GangState* a, const GangState* b) const {
  if (a->submitted != b->submitted) return a->submitted < b->submitted;
  return a != b && a->gang->id < b->gang->id;
}

int GangState::slots() const {
  int count = 0;
  for (const Hold& hold : holds) count += static_cast<int>(hold.slots.size()) + hold.vanished;
  return count;
}

}  // namespace det::scheduler
