// Contract tests of EventLoop; they run on the Asio loop and on the fake.
#include "base/event_loop.h"

#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/fake_event_loop.h"
#include <gtest/gtest.h>

namespace det::base {
namespace {

// A loop, and a function that lets it run until a time.
struct Subject {
  std::unique_ptr<EventLoop> loop;
  std::function<void(absl::Time)> run_to;
};

Subject MakeReal() {
  Subject subject{MakeAsioEventLoop("test"), {}};
  subject.run_to = [loop = subject.loop.get()](absl::Time time) {
    std::promise<void> done;
    loop->PostAt(time, [&] { loop->Post([&] { done.set_value(); }); });
    done.get_future().wait();
  };
  return subject;
}

Subject MakeFake() {
  auto loop = std::make_unique<FakeEventLoop>();
  auto run_to = [loop = loop.get()](absl::Time time) { loop->AdvanceTo(time); };
  return {std::move(loop), run_to};
}

class EventLoopContract : public testing::TestWithParam<Subject (*)()> {
 protected:
  void RunFor(absl::Duration duration) { subject_.run_to(loop_.Now() + duration); }

  Subject subject_ = GetParam()();
  EventLoop& loop_ = *subject_.loop;
  std::string trace_;
};

INSTANTIATE_TEST_SUITE_P(Loops, EventLoopContract, testing::Values(&MakeReal, &MakeFake),
                         [](const auto& info) { return info.index == 0 ? "Asio" : "Fake"; });

TEST_P(EventLoopContract, RunsPostedFunctionsInOrderAndNotInsidePost) {
  loop_.Post([&] {
    loop_.Post([&] { trace_ += "c"; });
    trace_ += "a";
  });
  RunFor(absl::Milliseconds(1));
  loop_.Post([&] { trace_ += "d"; });
  RunFor(absl::Milliseconds(1));
  EXPECT_EQ(trace_, "acd");
}

TEST_P(EventLoopContract, RunsTimersInOrderOfTimeThenOfCall) {
  const absl::Time at = loop_.Now() + absl::Milliseconds(20);
  absl::Time ran;
  loop_.PostAt(at, [&] { trace_ += "b"; });
  loop_.PostAt(at, [&] { trace_ += "c"; });
  loop_.PostAt(at - absl::Milliseconds(5), [&] {
    trace_ += "a";
    ran = loop_.Now();
  });
  subject_.run_to(at + absl::Milliseconds(1));
  EXPECT_EQ(trace_, "abc");
  EXPECT_GE(ran, at - absl::Milliseconds(5));
}

TEST_P(EventLoopContract, RunsTimerAtOnce_WhenTimeIsInThePast) {
  loop_.PostAt(absl::InfinitePast(), [&] { trace_ += "a"; });
  RunFor(absl::Milliseconds(1));
  EXPECT_EQ(trace_, "a");
}

TEST_P(EventLoopContract, NeverRunsCancelledTimer) {
  const TimerId timer = loop_.PostAfter(absl::Milliseconds(2), [&] { trace_ += "x"; });
  loop_.PostAt(absl::InfiniteFuture(), [&] { trace_ += "never"; });
  EXPECT_TRUE(loop_.Cancel(timer));
  EXPECT_FALSE(loop_.Cancel(timer));
  EXPECT_FALSE(loop_.Cancel(TimerId(12345)));
  RunFor(absl::Milliseconds(5));
  EXPECT_EQ(trace_, "");
}

TEST_P(EventLoopContract, ReportsWhetherCallerIsOnLoopThread) {
  bool inside = false;
  loop_.Post([&] { inside = loop_.IsOnLoopThread(); });
  RunFor(absl::Milliseconds(1));
  EXPECT_TRUE(inside);
  EXPECT_FALSE(loop_.IsOnLoopThread());
}

TEST_P(EventLoopContract, StopRunsPostedFunctionsAndDropsTimers) {
  auto owned = std::make_shared<int>(1);
  loop_.PostAfter(absl::Hours(1), [&, owned] { trace_ += "timer"; });
  loop_.Post([&] {
    trace_ += "a";
    loop_.Post([&] { trace_ += "b"; });
  });
  loop_.Stop();
  EXPECT_EQ(trace_, "ab");
  EXPECT_EQ(owned.use_count(), 1);
  loop_.Post([&] { trace_ += "late"; });
  loop_.PostAfter(absl::ZeroDuration(), [&] { trace_ += "late"; });
  loop_.Stop();
  EXPECT_EQ(trace_, "ab");
}

TEST(AsioEventLoopTest, AcceptsPostsFromManyThreads) {
  auto loop = MakeAsioEventLoop("test");
  int count = 0;  // Needs no lock, because only the loop's thread uses it.
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) loop->Post([&] { ++count; });
    });
  }
  for (auto& thread : threads) thread.join();
  loop->Stop();
  EXPECT_EQ(count, 4000);
}

TEST(AsioEventLoopTest, UsesNoCpu_WhenIdle) {
  auto loop = MakeAsioEventLoop("test");
  loop->PostAfter(absl::Hours(1), [] {});
  loop->PostAt(absl::InfiniteFuture(), [] {});
  absl::SleepFor(absl::Milliseconds(50));
  const std::clock_t before = std::clock();
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 50);
}

TEST(FakeEventLoopTest, RunsEachTimerAtItsOwnTime) {
  FakeEventLoop loop;
  const absl::Time start = loop.Now();
  std::vector<absl::Duration> ran;
  loop.PostAfter(absl::Hours(1), [&] {
    ran.push_back(loop.Now() - start);
    loop.PostAfter(absl::Hours(1), [&] { ran.push_back(loop.Now() - start); });
  });
  EXPECT_EQ(loop.NextTimer(), start + absl::Hours(1));
  loop.Advance(absl::Hours(3));
  EXPECT_EQ(ran, (std::vector{absl::Hours(1), absl::Hours(2)}));
  EXPECT_EQ(loop.Now(), start + absl::Hours(3));
  EXPECT_TRUE(loop.IsIdle());
}

TEST(FakeEventLoopTest, KeepsTimerDelays_WhenClockIsSet) {
  FakeEventLoop loop;
  const absl::Time set = loop.Now() - absl::Hours(1);
  absl::Time ran;
  loop.PostAfter(absl::Seconds(5), [&] { ran = loop.Now(); });
  loop.SetClock(set);
  EXPECT_EQ(loop.Now(), set);
  loop.Advance(absl::Seconds(4));
  EXPECT_EQ(ran, absl::Time());
  loop.Advance(absl::Seconds(1));
  EXPECT_EQ(ran, set + absl::Seconds(5));
}

TEST(FakeEventLoopTest, RunsOneFunctionAtATimeAndCanBeKilledInBetween) {
  FakeEventLoop loop;
  int ran = 0;
  for (int i = 0; i < 3; ++i) loop.Post([&] { ++ran; });
  loop.PostAfter(absl::Seconds(1), [&] { ++ran; });
  EXPECT_TRUE(loop.RunOne());
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(loop.HasPosted());
  loop.AdvanceClock(absl::Seconds(1));
  EXPECT_EQ(ran, 1) << "AdvanceClock() must not run anything";
  loop.Kill();
  loop.Post([&] { ++ran; });
  EXPECT_FALSE(loop.RunOne());
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace det::base
