// The order in which the waiting gangs of a pool are served: one implementation per kind of policy.
//
// Created for one round of a pass, and kept afterwards to explain the order. PURE.
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

  // Returns the first gang that may still be served: not started (GangState::fresh), not passed
  // over, class not done, no limit closed. nullptr if none is left.
  virtual GangState* Next() = 0;
  // Advances past the gang that Next returned: it has started, or waits.
  virtual void Advance() = 0;
  // Returns the current place, also of a gang that Next has not returned.
  virtual Place GetPlace(const GangState& gang) const = 0;
};

// Orders by priority, position and submission: policies priority and fifo.
std::unique_ptr<Order> MakeStaticOrder(PoolState& pool);
// Orders by shares of the pool: policy fair_share.
std::unique_ptr<Order> MakeFairOrder(PoolState& pool);
std::unique_ptr<Order> MakeOrder(PoolState& pool);

// Whether a limit is closed for the gangs of the job.
inline bool IsClosed(const JobState& job) {
  return job.closed || (job.user != nullptr && job.user->closed) ||
         (job.workspace != nullptr && job.workspace->closed);
}

// Iterates over the gangs of one queue, except those that have started. Accesses only the queue
// until it must, because there are many queues.
class QueueCursor {
 public:
  // REQUIRES that the queue is listed.
  explicit QueueCursor(const JobQueue& queue) : queue_(&queue), key_(queue.key) { Skip(); }

  bool done() const { return key_.gang == nullptr; }
  GangState* gang() const { return const_cast<GangState*>(key_.gang); }
  const OrderKey& key() const { return key_; }
  const JobQueue& queue() const { return *queue_; }
  void Advance();
  // Skips gangs that have started meanwhile.
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
