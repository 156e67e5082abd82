#include "master/live/experiment_watch.h"

#include "base/fake_event_loop.h"
#include "gtest/gtest.h"

namespace det::live {
namespace {

TEST(ExperimentWatchTest, NotifiesOfQueueAtMostOncePerSecondAndAfterLastChange) {
  base::FakeEventLoop loop;
  ExperimentWatch watch;
  watch.SetLoop(&loop);
  int notified = 0;
  watch.queue().Subscribe({}, [&] { ++notified; });
  for (int i = 0; i < 10; ++i) watch.QueueChanged();
  loop.RunUntilIdle();
  EXPECT_EQ(notified, 1);
  for (int i = 0; i < 10; ++i) watch.QueueChanged();
  loop.Advance(absl::Milliseconds(999));
  EXPECT_EQ(notified, 1);
  loop.Advance(absl::Milliseconds(1));
  EXPECT_EQ(notified, 2);
  loop.Advance(absl::Hours(1));
  EXPECT_EQ(notified, 2) << "no change, no notification";
  watch.QueueChanged();
  loop.RunUntilIdle();
  EXPECT_EQ(notified, 3);
}

TEST(ExperimentWatchTest, NotifiesOfFewChangesAtOnceAndCombinesMany) {
  base::FakeEventLoop loop;
  ExperimentWatch watch;
  watch.SetLoop(&loop);
  const model::ExperimentId watched(1), other(2);
  int notified = 0;
  watch.experiments().Subscribe(watched, [&] { ++notified; });
  for (int i = 0; i < 8; ++i) watch.Changed(watched);
  watch.Changed(other);
  EXPECT_EQ(notified, 8);
  for (int i = 0; i < 10; ++i) watch.Changed(watched);
  EXPECT_EQ(notified, 8);
  loop.Advance(absl::Milliseconds(500));
  EXPECT_EQ(notified, 9) << "the last change is not lost";
  for (int second = 0; second < 10; ++second) {
    for (int i = 0; i < 10; ++i) {
      watch.Changed(watched);
      loop.Advance(absl::Milliseconds(100));
    }
  }
  EXPECT_GE(notified, 28);
  EXPECT_LE(notified, 30);
  const int before = notified;
  loop.Advance(absl::Hours(1));
  EXPECT_LE(notified, before + 1);
  EXPECT_EQ(loop.NextTimer(), absl::InfiniteFuture()) << "no timer without changes";
  const int after_pause = notified;
  for (int i = 0; i < 8; ++i) watch.Changed(watched);
  EXPECT_EQ(notified, after_pause + 8);
}

TEST(ExperimentWatchTest, CombinesBurstOfMetricsIntoOneNotification) {
  base::FakeEventLoop loop;
  ExperimentWatch watch;
  watch.SetLoop(&loop);
  const model::ExperimentId watched(1), other(2);
  watch.MetricsArrived(watched, {});
  loop.Advance(absl::Hours(1));
  int notified = 0;
  watch.metrics().Subscribe(watched, [&] { ++notified; });
  for (int i = 0; i < 10; ++i) watch.MetricsArrived(watched, {});
  watch.MetricsArrived(other, {});
  loop.RunUntilIdle();
  EXPECT_EQ(notified, 0);
  loop.Advance(absl::Milliseconds(300));
  EXPECT_EQ(notified, 1);
  loop.Advance(absl::Hours(1));
  EXPECT_EQ(notified, 1) << "no change, no notification";
  watch.MetricsArrived(watched, {});
  loop.Advance(absl::Milliseconds(300));
  EXPECT_EQ(notified, 2);
}

}  // namespace
}  // namespace det::live
