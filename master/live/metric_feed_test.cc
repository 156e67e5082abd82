#include "master/live/metric_feed.h"

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

std::vector<int> StepsOf(const MetricFeed::News& news) {
  std::vector<int> steps;
  for (const auto& message : news.messages) {
    for (const auto& point : message->points()) steps.push_back(point.batches());
  }
  return steps;
}

TEST(MetricFeedTest, WhatIsAddedIsOneMessageForAllWhoFollow) {
  MetricFeed feed;
  Add(feed, 1);  // nobody follows
  const auto first = feed.Open(kMine, "");
  const auto second = feed.Open(kMine, "");
  EXPECT_TRUE(first.missed) << "what was before is to be read";
  Add(feed, 2);
  Add(feed, 3);
  EXPECT_TRUE(feed.After(kMine, first.number).messages.empty()) << "until the moment is over";
  feed.Seal(kMine);
  feed.Seal(kOther);
  const auto news = feed.After(kMine, first.number);
  EXPECT_EQ(StepsOf(news), (std::vector<int>{2, 3}));
  EXPECT_EQ(news.messages[0].get(), feed.After(kMine, second.number).messages[0].get());
  EXPECT_EQ(news.messages[0]->position(), news.place.text);
  EXPECT_TRUE(feed.After(kMine, news.place.number).messages.empty());
  const auto& point = news.messages[0]->points(0);
  EXPECT_EQ(point.trial_id(), 7);
  EXPECT_EQ(point.group(), "training");
  EXPECT_EQ(point.values().fields().at("loss").number_value(), 1);
}

TEST(MetricFeedTest, ALostConnectionGoesOnWhereItWas) {
  MetricFeed feed;
  const auto place = feed.Open(kMine, "");
  Add(feed, 1);
  feed.Seal(kMine);
  feed.Close(kMine);
  Add(feed, 2);  // while nobody follows, and not sealed by anybody
  const auto again = feed.Open(kMine, place.text);
  EXPECT_FALSE(again.missed);
  EXPECT_EQ(StepsOf(feed.After(kMine, again.number)), (std::vector<int>{1, 2}));
}

TEST(MetricFeedTest, APlaceThatIsNotKnownIsMissed) {
  MetricFeed feed, other_process;
  const auto old = feed.Open(kMine, "");
  feed.Close(kMine);
  feed.Drop(kMine);
  const auto now = feed.Open(kMine, old.text);
  EXPECT_TRUE(now.missed) << "in between nobody kept anything";
  EXPECT_TRUE(feed.Open(kMine, other_process.Open(kMine, "").text).missed);
  for (const char* text : {"7", "x.1", ".1", "-1", "99999999999999999999"}) {
    EXPECT_TRUE(feed.Open(kMine, text).missed) << text;
    EXPECT_TRUE(feed.Open(kMine, now.text + text).missed) << text;
  }
  feed.Drop(kMine);
  EXPECT_FALSE(feed.Open(kMine, now.text).missed) << "somebody follows it still";
}

TEST(MetricFeedTest, MoreThanIsToldIsSaidToBeMissedAndMoreThanIsKeptIsGone) {
  MetricFeed feed;
  const auto place = feed.Open(kMine, "");
  for (int i = 0; i <= MetricFeed::kMostValues; ++i) Add(feed, i);
  feed.Seal(kMine);
  const auto news = feed.After(kMine, place.number);
  ASSERT_EQ(news.messages.size(), 1);
  EXPECT_TRUE(news.messages[0]->missed());
  EXPECT_EQ(news.messages[0]->points_size(), 0);
  for (int i = 0; i <= MetricFeed::kMostMessages; ++i) {
    Add(feed, i);
    feed.Seal(kMine);
  }
  const auto later = feed.After(kMine, place.number);
  EXPECT_TRUE(later.place.missed);
  EXPECT_FALSE(feed.After(kMine, news.place.number + 2).place.missed);
}

// One who follows, is cut off, goes on or begins anew, and reads all where he is told to, knows
// what was stored; whatever happens in which order.
TEST(MetricFeedTest, NoPointIsMissedOrStandsTwiceHoweverOftenTheConnectionIsLost) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const auto one_in = [&](int n) { return std::uniform_int_distribution<int>(1, n)(random) == 1; };
  for (int round = 0; round < 50; ++round) {
    MetricFeed feed;
    std::map<int, double> stored, known;
    bool follows = false;
    MetricFeed::Place place;
    const auto look = [&] {
      const auto news = feed.After(kMine, place.number);
      bool read = news.place.missed;
      for (const auto& message : news.messages) {
        read = read || message->missed();
        for (const auto& point : message->points()) {
          known[point.batches()] = point.values().fields().at("loss").number_value();
        }
      }
      if (read) known = stored;
      place = news.place;
    };
    for (int step = 0; step < 400; ++step) {
      if (follows ? one_in(20) : one_in(4)) {
        follows = !follows;
        if (follows) {
          place = feed.Open(kMine, one_in(10) ? "" : place.text);
          if (place.missed) known = stored;
        } else {
          feed.Close(kMine);
          if (one_in(5)) feed.Drop(kMine);
        }
      }
      const int steps = std::uniform_int_distribution<int>(1, 100)(random);
      stored[steps] = step;  // a later run says it anew
      Add(feed, steps, step);
      if (one_in(3)) feed.Seal(kMine);
      if (follows && one_in(2)) look();
    }
    if (!follows) {
      place = feed.Open(kMine, place.text);
      if (place.missed) known = stored;
    }
    feed.Seal(kMine);
    look();
    EXPECT_EQ(known, stored);
  }
}

}  // namespace
}  // namespace det::live
