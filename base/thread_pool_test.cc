#include "base/thread_pool.h"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "gtest/gtest.h"

namespace det::base {
namespace {

TEST(ThreadPoolTest, StopRunsAllPostedFunctions) {
  std::atomic<int> sum = 0;
  ThreadPool pool(3);
  for (int i = 1; i <= 1000; ++i) pool.Post([&sum, i] { sum += i; });
  pool.Stop();
  EXPECT_EQ(sum, 500500);
  pool.Post([&sum] { sum = 0; });
  pool.Stop();
  EXPECT_EQ(sum, 500500);
}

TEST(ThreadPoolTest, BlockedFunctionDoesNotDelayOthers) {
  ThreadPool pool(2);
  std::promise<void> release;
  std::promise<void> ran;
  pool.Post([&release] { release.get_future().wait(); });
  pool.Post([&ran] { ran.set_value(); });
  ran.get_future().wait();
  release.set_value();
}

TEST(ThreadPoolTest, SpareThreadsTakeJobs_WhenOtherThreadsAreBusy) {
  ThreadPool pool(2, 3, std::chrono::milliseconds(1));
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::promise<void> ran;
  // Two of the spare threads are blocked too, after their delay.
  for (int i = 0; i < 4; ++i) pool.Post([released] { released.wait(); });
  pool.Post([&ran] { ran.set_value(); });
  ran.get_future().wait();
  release.set_value();
}

TEST(ThreadPoolTest, SpareThreadsDoNotTakeJobs_WhenOtherThreadsAreFastEnough) {
  ThreadPool pool(1, 1, std::chrono::hours(1));
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::promise<void> all;
  for (int i = 0; i < 1000; ++i) {
    pool.Post([&] {
      std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  pool.Post([&all] { all.set_value(); });
  all.get_future().wait();
  EXPECT_EQ(seen.size(), 1u);
}

TEST(ThreadPoolTest, StopRunsRemainingJobs_WhileSpareThreadsWait) {
  std::atomic<int> ran = 0;
  std::promise<void> release;
  ThreadPool pool(1, 2, std::chrono::hours(1));
  pool.Post([&release] { release.get_future().wait(); });
  for (int i = 0; i < 10; ++i) pool.Post([&ran] { ++ran; });
  release.set_value();
  pool.Stop();
  EXPECT_EQ(ran, 10);
}

}  // namespace
}  // namespace det::base
