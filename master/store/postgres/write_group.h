// Group commit for many callers: rows that arrive during a write are written together by the next
// write, and each caller returns once its own rows are written. Any thread; Write blocks. There is
// no extra thread: the first caller in the queue writes for those behind it.
#ifndef MASTER_STORE_POSTGRES_WRITE_GROUP_H_
#define MASTER_STORE_POSTGRES_WRITE_GROUP_H_

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace det::store {

template <class Row>
class WriteGroup {
 public:
  using Rows = std::vector<const Row*>;

  // `write` is called by one thread at a time, with at most `max_rows` rows, in order; more only if
  // a single caller passes more.
  WriteGroup(size_t max_rows, std::function<absl::Status(const Rows&)> write)
      : max_rows_(max_rows), write_(std::move(write)) {}

  absl::Status Write(const std::vector<Row>& rows) {
    if (rows.empty()) return absl::OkStatus();
    Caller me{rows};
    std::unique_lock lock(mutex_);
    queue_.push_back(&me);
    turn_.wait(lock, [&] { return me.done || queue_.front() == &me; });
    if (me.done) return me.status;

    Rows group;
    size_t callers = 0;
    for (const Caller* caller : queue_) {
      if (callers > 0 && group.size() + caller->rows.size() > max_rows_) break;
      for (const Row& row : caller->rows) group.push_back(&row);
      ++callers;
    }
    lock.unlock();
    const absl::Status status = write_(group);
    lock.lock();
    for (size_t i = 0; i < callers; ++i) {
      queue_.front()->status = status;
      queue_.front()->done = true;
      queue_.pop_front();
    }
    turn_.notify_all();
    return status;
  }

 private:
  struct Caller {
    const std::vector<Row>& rows;
    absl::Status status;
    bool done = false;
  };

  const size_t max_rows_;
  const std::function<absl::Status(const Rows&)> write_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::deque<Caller*> queue_;  // the first one writes
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_WRITE_GROUP_H_
