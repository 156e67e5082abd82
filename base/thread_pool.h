// A few threads for work that blocks: database queries, file access, hashing. Called from any
// thread. Never runs a function on the caller's thread and never wakes up without work.
#ifndef BASE_THREAD_POOL_H_
#define BASE_THREAD_POOL_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace det::base {

class ThreadPool {
 public:
  // `threads` threads take posted functions at once. `spare` threads take only functions that have
  // waited for `spare_delay`, so that slow work (a search through all data, a download) delays
  // other work by at most that time, and short work is not slowed down by too many threads.
  explicit ThreadPool(int threads, int spare = 0,
                      std::chrono::milliseconds spare_delay = std::chrono::milliseconds(50));
  // Same as Stop().
  ~ThreadPool();

  // Runs `fn` on one of the threads; functions start in the order of the calls. Does nothing after
  // Stop().
  void Post(absl::AnyInvocable<void()> fn);

  // Runs all functions that were posted, and ends the threads. Later calls do nothing.
  void Stop();

 private:
  struct Job {
    absl::AnyInvocable<void()> fn;
    std::chrono::steady_clock::time_point posted;
  };

  void Run();
  void RunSpare();
  // REQUIRES the lock. Runs the first job; the lock is released meanwhile.
  void RunFirst(std::unique_lock<std::mutex>& lock);
  // REQUIRES the lock. Wakes a spare thread, which waits until the first job is due, if no other
  // thread will take that job.
  void WakeSpare();

  const std::chrono::milliseconds spare_delay_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable wake_spare_;
  std::deque<Job> queue_;
  // number of idle threads that are not spare; a thread that was woken counts until it runs
  int idle_ = 0;
  bool spare_is_waiting_ = false;  // a spare thread is waiting until the first job is due
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace det::base

#endif  // BASE_THREAD_POOL_H_
