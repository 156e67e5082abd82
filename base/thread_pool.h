// A few threads for work that blocks: reads of the database, of files, hashing.
// Called by edges (services, agent hub) from any thread. Never runs anything on the caller's
// thread, never wakes up with nothing to do.
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
  // `threads` take what is posted at once; `spare` ones only what has waited for `patience`, so
  // that work that is slow (a search through everything, a download) holds nobody back for longer,
  // and short work is not slowed by too many at a time.
  explicit ThreadPool(int threads, int spare = 0,
                      std::chrono::milliseconds patience = std::chrono::milliseconds(50));
  // As Stop().
  ~ThreadPool();

  // Runs `fn` on one of the threads, in the order of the calls as far as threads are free. After
  // Stop() it is dropped.
  void Post(absl::AnyInvocable<void()> fn);

  // Runs what was posted, ends the threads. Later calls do nothing.
  void Stop();

 private:
  struct Job {
    absl::AnyInvocable<void()> fn;
    std::chrono::steady_clock::time_point posted;
  };

  void Run();
  void RunSpare();
  // With the lock: runs the first job without it.
  void RunFirst(std::unique_lock<std::mutex>& lock);
  // With the lock: a spare thread watches how long the first job waits, if nobody else will take
  // it.
  void CallSpare();

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable wake_spare_;
  std::deque<Job> queue_;
  int idle_ = 0;          // of those that are not spare; one that was woken counts until it runs
  bool watched_ = false;  // a spare thread waits until the first job is due
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace det::base

#endif  // BASE_THREAD_POOL_H_
