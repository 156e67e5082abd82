// Group commit for many callers: rows that arrive during a write are written together by the next
// write, and each caller is notified once its own rows are written. A thread of the group writes,
// so that no caller has to wait for the database on a thread of its own.
#ifndef MASTER_STORE_POSTGRES_WRITE_GROUP_H_
#define MASTER_STORE_POSTGRES_WRITE_GROUP_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

namespace det::store {

template <class Row>
class WriteGroup {
 public:
  using Rows = std::vector<const Row*>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `write` is called by one thread, with at most `max_rows` rows, in order; more only if a single
  // caller passes more.
  WriteGroup(size_t max_rows, std::function<absl::Status(const Rows&)> write)
      : max_rows_(max_rows), write_(std::move(write)), thread_([this] { Run(); }) {}

  // Writes the rows that are waiting, then ends the thread.
  ~WriteGroup() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  // Any thread; returns at once. `done` is called with the result of the write, on the group's
  // thread, which it must not block; without rows it is called at once.
  void Write(std::vector<Row> rows, Done done) {
    if (rows.empty()) return done(absl::OkStatus());
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(rows), std::move(done)});
    if (queue_.size() == 1) wake_.notify_one();
  }

 private:
  struct Caller {
    std::vector<Row> rows;
    Done done;
  };

  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::vector<Caller> callers = TakeCallers();
      lock.unlock();
      Rows group;
      for (const Caller& caller : callers) {
        for (const Row& row : caller.rows) group.push_back(&row);
      }
      const absl::Status status = write_(group);
      for (Caller& caller : callers) caller.done(status);
      callers.clear();
      lock.lock();
    }
  }

  // REQUIRES the lock and a caller in the queue.
  std::vector<Caller> TakeCallers() {
    std::vector<Caller> callers;
    size_t rows = 0;
    while (!queue_.empty()) {
      rows += queue_.front().rows.size();
      if (!callers.empty() && rows > max_rows_) break;
      callers.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return callers;
  }

  const size_t max_rows_;
  const std::function<absl::Status(const Rows&)> write_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Caller> queue_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses the other members
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_WRITE_GROUP_H_
