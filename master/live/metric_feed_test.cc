#include "master/live/metric_feed.h"

#include <iostream>
#include <map>
#include <random>

#include "gtest/gtest.h"

namespace det::live {
namespace {

const model::ExperimentId kMine(1), kOther(2);

model::MetricReport Report(int64_t steps, double loss, int trial = 7) {
  model::MetricReport report;
  report.trial = model::TrialId(trial);
  report.group = "training";
  report.steps_completed = steps;
  report.metrics = model::Value::Object{{"loss", loss}};
  return report;
}

void Add(MetricFeed& feed, int64_t steps, double loss = 1) {
  const model::MetricReport report = Report(steps, loss);
  feed.Add(kMine, absl::MakeConstSpan(&report, 1));
}

std::vector<int> GetSteps(const MetricFeed::Updates& updates) {
  std::vector<int> steps;
  for (const auto& message : updates.messages) {
    for (const auto& point : message->points()) steps.push_back(point.batches());
  }
  return steps;
}

TEST(MetricFeedTest, SharesOneMessageBetweenSubscribers) {
  MetricFeed feed;
  Add(feed, 1);  // without a subscriber
  const auto first = feed.Open(kMine, "");
  const auto second = feed.Open(kMine, "");
  EXPECT_TRUE(first.missed) << "the subscriber must read earlier metrics";
  Add(feed, 2);
  Add(feed, 3);
  EXPECT_TRUE(feed.ReadAfter(kMine, first.number).messages.empty()) << "before Seal()";
  feed.Seal(kMine);
  feed.Seal(kOther);
  const auto updates = feed.ReadAfter(kMine, first.number);
  EXPECT_EQ(GetSteps(updates), (std::vector<int>{2, 3}));
  EXPECT_EQ(updates.messages[0].get(), feed.ReadAfter(kMine, second.number).messages[0].get());
  EXPECT_EQ(updates.messages[0]->position(), updates.position.text);
  EXPECT_TRUE(feed.ReadAfter(kMine, updates.position.number).messages.empty());
  const auto& point = updates.messages[0]->points(0);
  EXPECT_EQ(point.trial_id(), 7);
  EXPECT_EQ(point.group(), "training");
  EXPECT_EQ(point.values().fields().at("loss").number_value(), 1);
}

TEST(MetricFeedTest, ResumesAtPositionAfterLostConnection) {
  MetricFeed feed;
  const auto position = feed.Open(kMine, "");
  Add(feed, 1);
  feed.Seal(kMine);
  feed.Close(kMine);
  Add(feed, 2);  // without a subscriber, and not sealed
  const auto resumed = feed.Open(kMine, position.text);
  EXPECT_FALSE(resumed.missed);
  EXPECT_EQ(GetSteps(feed.ReadAfter(kMine, resumed.number)), (std::vector<int>{1, 2}));
}

TEST(MetricFeedTest, ReportsMissedForUnknownPosition) {
  MetricFeed feed, other_process;
  const auto old = feed.Open(kMine, "");
  feed.Close(kMine);
  feed.Drop(kMine);
  const auto now = feed.Open(kMine, old.text);
  EXPECT_TRUE(now.missed) << "nothing was kept between Drop() and Open()";
  EXPECT_TRUE(feed.Open(kMine, other_process.Open(kMine, "").text).missed);
  for (const char* text : {"7", "x.1", ".1", "-1", "99999999999999999999"}) {
    EXPECT_TRUE(feed.Open(kMine, text).missed) << text;
    EXPECT_TRUE(feed.Open(kMine, now.text + text).missed) << text;
  }
  feed.Drop(kMine);
  EXPECT_FALSE(feed.Open(kMine, now.text).missed) << "it still has subscribers";
}

TEST(MetricFeedTest, ReportsMissedForTooLargeMessagesAndRemovesOldOnes) {
  MetricFeed feed;
  const auto position = feed.Open(kMine, "");
  for (int i = 0; i <= MetricFeed::kMaxMessageValues; ++i) Add(feed, i);
  feed.Seal(kMine);
  const auto updates = feed.ReadAfter(kMine, position.number);
  ASSERT_EQ(updates.messages.size(), 1);
  EXPECT_TRUE(updates.messages[0]->missed());
  EXPECT_EQ(updates.messages[0]->points_size(), 0);
  for (int i = 0; i <= MetricFeed::kMaxKeptMessages; ++i) {
    Add(feed, i);
    feed.Seal(kMine);
  }
  const auto later = feed.ReadAfter(kMine, position.number);
  EXPECT_TRUE(later.position.missed);
  EXPECT_FALSE(feed.ReadAfter(kMine, updates.position.number + 2).position.missed);
}

// A subscriber that follows, is disconnected, resumes or starts again, and reads all metrics when
// `missed` is set, knows all stored metrics, in any order of these actions.
TEST(MetricFeedTest, DeliversEachPointOnce_WhenConnectionIsLostRepeatedly) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const auto one_in = [&](int n) { return std::uniform_int_distribution<int>(1, n)(random) == 1; };
  for (int round = 0; round < 50; ++round) {
    MetricFeed feed;
    std::map<int, double> stored, known;
    bool follows = false;
    MetricFeed::Position position;
    const auto read_updates = [&] {
      const auto updates = feed.ReadAfter(kMine, position.number);
      bool read_all = updates.position.missed;
      for (const auto& message : updates.messages) {
        read_all = read_all || message->missed();
        for (const auto& point : message->points()) {
          known[point.batches()] = point.values().fields().at("loss").number_value();
        }
      }
      if (read_all) known = stored;
      position = updates.position;
    };
    for (int step = 0; step < 400; ++step) {
      if (follows ? one_in(20) : one_in(4)) {
        follows = !follows;
        if (follows) {
          position = feed.Open(kMine, one_in(10) ? "" : position.text);
          if (position.missed) known = stored;
        } else {
          feed.Close(kMine);
          if (one_in(5)) feed.Drop(kMine);
        }
      }
      const int steps = std::uniform_int_distribution<int>(1, 100)(random);
      stored[steps] = step;  // a later attempt may report the same step again
      Add(feed, steps, step);
      if (one_in(3)) feed.Seal(kMine);
      if (follows && one_in(2)) read_updates();
    }
    if (!follows) {
      position = feed.Open(kMine, position.text);
      if (position.missed) known = stored;
    }
    feed.Seal(kMine);
    read_updates();
    EXPECT_EQ(known, stored);
  }
}

}  // namespace
}  // namespace det::live
