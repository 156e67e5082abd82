// In which order the waiting gangs of a pool are served: one file per kind of policy.
//
// Made for one round of a pass, used by it, and kept to say afterwards who went before whom. PURE.
#ifndef MASTER_CORE_SCHEDULER_ORDER_H_
#define MASTER_CORE_SCHEDULER_ORDER_H_

#include <memory>
#include <vector>

#include "master/core/scheduler/place.h"
#include "master/core/scheduler/pool_state.h"
#include "master/core/scheduler/state.h"

namespace det::scheduler {

class Order {
 public:
  virtual ~Order() = default;

  // The first that may still be served: not started (GangState::fresh), not passed by, its class
  // not done, no limit of its closed. nullptr: nobody is left.
  virtual GangState* Next() = 0;
  // Goes past the gang that Next gave: it started, or waits.
  virtual void Advance() = 0;
  // As of now, also for gangs that Next never gave.
  virtual Place PlaceOf(const GangState& gang) const = 0;
};

// By priority, position and submission: policies priority and fifo.
std::unique_ptr<Order> MakeStaticOrder(PoolState& pool);
// By shares of what the pool has: policy fair_share.
std::unique_ptr<Order> MakeFairOrder(PoolState& pool);
std::unique_ptr<Order> MakeOrder(PoolState& pool);

// Whether a limit is closed for the gangs of the job.
inline bool IsClosed(const JobState& job) {
  return job.closed || (job.user != nullptr && job.user->closed) ||
         (job.workspace != nullptr && job.workspace->closed);
}

// The gangs of one queue from some point on, those that started left out. Looks at nothing but the
// queue until it has to: there are many.
class QueueCursor {
 public:
  // REQUIRES that the queue is listed.
  explicit QueueCursor(const JobQueue& queue) : queue_(&queue), key_(queue.key) { Skip(); }

  bool done() const { return key_.gang == nullptr; }
  GangState* gang() const { return const_cast<GangState*>(key_.gang); }
  const OrderKey& key() const { return key_; }
  const JobQueue& queue() const { return *queue_; }
  void Advance();
  // What has started meanwhile.
  void Skip() {
    while (!done() && queue_->job->fresh > 0 && key_.gang->fresh) Advance();
  }

 private:
  const JobQueue* queue_;
  OrderKey key_;  // gang: nullptr at the end
  bool at_first_ = true;
  decltype(JobQueue::gangs)::const_iterator at_;  // unless at_first_
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_ORDER_H_
