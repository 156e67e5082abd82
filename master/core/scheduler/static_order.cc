// Merges the classes, each of which has its queues in order.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "master/core/scheduler/order.h"
#include "master/core/scheduler/registry.h"

namespace det::scheduler {
namespace {

// Iterates over the gangs of one class in order, merging the queues that have been entered.
class ClassCursor {
 public:
  explicit ClassCursor(const GangClass& gang_class)
      : class_(&gang_class), next_(gang_class.queues.begin()) {}

  // Finds the first gang; returns false if there is none.
  bool Settle() {
    if (class_->done) return false;
    for (; next_ != class_->queues.end(); ++next_) {
      if (IsClosed(*(*next_)->job)) continue;
      if (!(*next_)->key.gang->fresh) break;
      Enter(QueueCursor(**next_));
    }
    while (!entered_.empty() && IsClosed(*entered_.front().second.queue().job)) Pop();
    const bool fresh_queue = next_ != class_->queues.end();
    if (!fresh_queue && entered_.empty()) return false;
    in_entered_ = !fresh_queue || (!entered_.empty() && entered_.front().first < (*next_)->key);
    key_ = in_entered_ ? entered_.front().first : (*next_)->key;
    return true;
  }
  const OrderKey& key() const { return key_; }
  GangState* gang() const { return const_cast<GangState*>(key_.gang); }

  void Advance() {
    if (in_entered_) {
      QueueCursor cursor = Pop();
      cursor.Advance();
      Enter(std::move(cursor));
    } else {
      QueueCursor cursor(**next_);
      if (!cursor.done() && cursor.gang() == key_.gang) cursor.Advance();
      ++next_;
      Enter(std::move(cursor));
    }
  }

 private:
  using Entered = std::pair<OrderKey, QueueCursor>;
  static bool Later(const Entered& a, const Entered& b) { return b.first < a.first; }

  void Enter(QueueCursor cursor) {
    if (cursor.done()) return;
    const OrderKey key = cursor.key();
    entered_.emplace_back(key, std::move(cursor));
    std::push_heap(entered_.begin(), entered_.end(), Later);
  }
  QueueCursor Pop() {
    std::pop_heap(entered_.begin(), entered_.end(), Later);
    QueueCursor cursor = std::move(entered_.back().second);
    entered_.pop_back();
    return cursor;
  }

  const GangClass* class_;
  decltype(GangClass::queues)::const_iterator next_;
  std::vector<Entered> entered_;  // a heap
  bool in_entered_ = false;       // whether `key_` is from entered_
  OrderKey key_;
};

class StaticOrder : public Order {
 public:
  explicit StaticOrder(PoolState& pool) {
    for (const auto& [shape, gang_class] : pool.classes) {
      if (gang_class->queues.empty()) continue;
      ClassCursor cursor(*gang_class);
      if (cursor.Settle()) heap_.push_back(std::move(cursor));
    }
    std::make_heap(heap_.begin(), heap_.end(), Later);
  }

  GangState* Next() override {
    while (!heap_.empty()) {
      const OrderKey before = heap_.front().key();
      if (!heap_.front().Settle()) {
        std::pop_heap(heap_.begin(), heap_.end(), Later);
        heap_.pop_back();
        continue;
      }
      if (!(before < heap_.front().key())) return heap_.front().gang();
      Sift();
    }
    return nullptr;
  }

  void Advance() override {
    heap_.front().Advance();
    if (heap_.front().Settle()) {
      Sift();
    } else {
      std::pop_heap(heap_.begin(), heap_.end(), Later);
      heap_.pop_back();
    }
  }

  Place GetPlace(const GangState& gang) const override {
    const OrderKey key = MakeOrderKey(gang);
    Place place;
    place.priority = key.priority;
    place.position = key.position;
    place.submitted = key.submitted;
    place.id = gang.gang->id.value();
    return place;
  }

 private:
  static bool Later(const ClassCursor& a, const ClassCursor& b) { return b.key() < a.key(); }
  // Restores the heap after the first cursor advanced.
  void Sift() {
    for (size_t i = 0;;) {
      size_t least = i;
      for (const size_t child : {2 * i + 1, 2 * i + 2}) {
        if (child < heap_.size() && Later(heap_[least], heap_[child])) least = child;
      }
      if (least == i) return;
      std::swap(heap_[i], heap_[least]);
      i = least;
    }
  }

  std::vector<ClassCursor> heap_;
};

}  // namespace

void QueueCursor::Advance() {
  if (at_first_) at_ = queue_->gangs.begin();
  at_first_ = false;
  ++at_;
  if (at_ == queue_->gangs.end()) {
    key_.gang = nullptr;
  } else {
    key_.submitted = (*at_)->submitted;  // the rest is that of its job
    key_.gang = *at_;
  }
  Skip();
}

std::unique_ptr<Order> MakeStaticOrder(PoolState& pool) {
  return std::make_unique<StaticOrder>(pool);
}

std::unique_ptr<Order> MakeOrder(PoolState& pool) {
  return pool.config.policy == model::SchedulingPolicy::kFairShare ? MakeFairOrder(pool)
                                                                   : MakeStaticOrder(pool);
}

}  // namespace det::scheduler
