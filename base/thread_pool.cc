#include "base/thread_pool.h"

#include <utility>

namespace det::base {

ThreadPool::ThreadPool(int threads, int spare, std::chrono::milliseconds spare_delay)
    : spare_delay_(spare_delay) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  for (int i = 0; i < spare; ++i) threads_.emplace_back([this] { RunSpare(); });
}

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Post(absl::AnyInvocable<void()> fn) {
  std::lock_guard lock(mutex_);
  if (stopped_) return;
  queue_.push_back({std::move(fn), std::chrono::steady_clock::now()});
  wake_.notify_one();
  WakeSpare();
}

void ThreadPool::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  wake_spare_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ThreadPool::WakeSpare() {
  if (idle_ == 0 && !spare_is_waiting_ && !queue_.empty()) wake_spare_.notify_one();
}

void ThreadPool::RunFirst(std::unique_lock<std::mutex>& lock) {
  Job job = std::move(queue_.front());
  queue_.pop_front();
  WakeSpare();
  lock.unlock();
  job.fn();
  job.fn = nullptr;  // destroyed here, not under the lock
  lock.lock();
}

void ThreadPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    RunFirst(lock);
  }
}

void ThreadPool::RunSpare() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_spare_.wait(lock, [this] { return stopped_ || (!spare_is_waiting_ && !queue_.empty()); });
    if (stopped_) return;  // the other threads run the remaining jobs
    spare_is_waiting_ = true;
    const auto due = queue_.front().posted + spare_delay_;
    wake_spare_.wait_until(lock, due, [this] { return stopped_; });
    spare_is_waiting_ = false;
    if (!queue_.empty() &&
        queue_.front().posted + spare_delay_ <= std::chrono::steady_clock::now()) {
      RunFirst(lock);
    }
  }
}

}  // namespace det::base
