// A few threads for work that blocks: reads of the database, of files, hashing.
// Called by edges (services, agent hub) from any thread. Never runs anything on the caller's
// thread, never wakes up with nothing to do.
#ifndef BASE_THREAD_POOL_H_
#define BASE_THREAD_POOL_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace det::base {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  // As Stop().
  ~ThreadPool();

  // Runs `fn` on one of the threads, in the order of the calls as far as threads are free. After
  // Stop() it is dropped.
  void Post(absl::AnyInvocable<void()> fn);

  // Runs what was posted, ends the threads. Later calls do nothing.
  void Stop();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<absl::AnyInvocable<void()>> queue_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace det::base

#endif  // BASE_THREAD_POOL_H_
