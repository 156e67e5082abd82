#include "master/live/experiment_watch.h"

#include "base/fake_event_loop.h"
#include "gtest/gtest.h"

namespace det::live {
namespace {

TEST(ExperimentWatchTest, NewsOfTheQueueComeAtMostOnceASecondAndTheLastIsNotLost) {
  base::FakeEventLoop loop;
  ExperimentWatch watch;
  watch.SetLoop(&loop);
  int heard = 0;
  watch.queue().Subscribe({}, [&] { ++heard; });
  for (int i = 0; i < 10; ++i) watch.QueueChanged();
  loop.RunUntilIdle();
  EXPECT_EQ(heard, 1);
  for (int i = 0; i < 10; ++i) watch.QueueChanged();
  loop.Advance(absl::Milliseconds(999));
  EXPECT_EQ(heard, 1);
  loop.Advance(absl::Milliseconds(1));
  EXPECT_EQ(heard, 2);
  loop.Advance(absl::Hours(1));
  EXPECT_EQ(heard, 2) << "without news there are none";
  watch.QueueChanged();
  loop.RunUntilIdle();
  EXPECT_EQ(heard, 3);
}

TEST(ExperimentWatchTest, AFewChangesComeAtOnceAndManyNowAndThen) {
  base::FakeEventLoop loop;
  ExperimentWatch watch;
  watch.SetLoop(&loop);
  const model::ExperimentId mine(1), other(2);
  int heard = 0;
  watch.experiments().Subscribe(mine, [&] { ++heard; });
  for (int i = 0; i < 8; ++i) watch.Changed(mine);
  watch.Changed(other);
  EXPECT_EQ(heard, 8);
  for (int i = 0; i < 10; ++i) watch.Changed(mine);
  EXPECT_EQ(heard, 8);
  loop.Advance(absl::Milliseconds(500));
  EXPECT_EQ(heard, 9) << "the last is not lost";
  for (int second = 0; second < 10; ++second) {
    for (int i = 0; i < 10; ++i) {
      watch.Changed(mine);
      loop.Advance(absl::Milliseconds(100));
    }
  }
  EXPECT_GE(heard, 28);
  EXPECT_LE(heard, 30);
  const int before = heard;
  loop.Advance(absl::Hours(1));
  EXPECT_LE(heard, before + 1);
  EXPECT_EQ(loop.NextTimer(), absl::InfiniteFuture()) << "nothing ticks at rest";
  const int rested = heard;
  for (int i = 0; i < 8; ++i) watch.Changed(mine);
  EXPECT_EQ(heard, rested + 8);
}

TEST(ExperimentWatchTest, ABurstOfMetricsIsOnePieceOfNews) {
  base::FakeEventLoop loop;
  ExperimentWatch watch;
  watch.SetLoop(&loop);
  const model::ExperimentId mine(1), other(2);
  watch.MetricsArrived(mine, {});
  loop.Advance(absl::Hours(1));
  int heard = 0;
  watch.metrics().Subscribe(mine, [&] { ++heard; });
  for (int i = 0; i < 10; ++i) watch.MetricsArrived(mine, {});
  watch.MetricsArrived(other, {});
  loop.RunUntilIdle();
  EXPECT_EQ(heard, 0);
  loop.Advance(absl::Milliseconds(300));
  EXPECT_EQ(heard, 1);
  loop.Advance(absl::Hours(1));
  EXPECT_EQ(heard, 1) << "without news there are none";
  watch.MetricsArrived(mine, {});
  loop.Advance(absl::Milliseconds(300));
  EXPECT_EQ(heard, 2);
}

}  // namespace
}  // namespace det::live
