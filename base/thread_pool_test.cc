#include "base/thread_pool.h"

#include <atomic>
#include <future>

#include "gtest/gtest.h"

namespace det::base {
namespace {

TEST(ThreadPoolTest, RunsAllThatWasPostedBeforeStop) {
  std::atomic<int> sum = 0;
  ThreadPool pool(3);
  for (int i = 1; i <= 1000; ++i) pool.Post([&sum, i] { sum += i; });
  pool.Stop();
  EXPECT_EQ(sum, 500500);
  pool.Post([&sum] { sum = 0; });
  pool.Stop();
  EXPECT_EQ(sum, 500500);
}

TEST(ThreadPoolTest, OneThatBlocksDoesNotHoldBackTheOthers) {
  ThreadPool pool(2);
  std::promise<void> release;
  std::promise<void> ran;
  pool.Post([&release] { release.get_future().wait(); });
  pool.Post([&ran] { ran.set_value(); });
  ran.get_future().wait();
  release.set_value();
}

}  // namespace
}  // namespace det::base
