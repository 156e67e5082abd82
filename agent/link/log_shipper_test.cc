#include "agent/link/log_shipper.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_event_loop.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

const AllocationId kA("1.1.0");
const AllocationId kB("1.2.0");

class FakePoster final : public LogPoster {
 public:
  struct Post {
    AllocationId allocation;
    std::vector<OutputLine> lines;
    Done done;
  };
  void PostLogs(const AllocationId& allocation,
                std::shared_ptr<const std::vector<OutputLine>> lines, Done done) override {
    posts.push_back({allocation, *lines, std::move(done)});
  }
  std::vector<Post> posts;
};

class LogShipperTest : public testing::Test {
 protected:
  static std::vector<OutputLine> Lines(int count, const std::string& text = "x") {
    OutputLine line;
    line.text = text;
    return std::vector<OutputLine>(static_cast<size_t>(count), line);
  }
  void Answer(size_t post, const absl::Status& status = absl::OkStatus()) {
    ASSERT_LT(post, poster_.posts.size());
    loop_.Post([&] { poster_.posts[post].done(status); });
    loop_.RunUntilIdle();
  }
  const std::vector<OutputLine>& Posted(size_t post) { return poster_.posts.at(post).lines; }

  base::FakeEventLoop loop_;
  FakePoster poster_;
  LogShipper shipper_{&loop_, &poster_, 7};
};

TEST_F(LogShipperTest, SendsAtOnceThenInBatches) {
  shipper_.Add(kA, Lines(1));
  ASSERT_EQ(poster_.posts.size(), 1u) << "no delay when idle";
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kA, Lines(1500));
  ASSERT_EQ(poster_.posts.size(), 1u) << "one batch at a time";
  Answer(0);
  ASSERT_EQ(poster_.posts.size(), 2u);
  EXPECT_EQ(Posted(1).size(), LogShipper::kBatchLines);
  Answer(1);
  EXPECT_EQ(Posted(2).size(), 501u);
  Answer(2);
  EXPECT_EQ(poster_.posts.size(), 3u);
  EXPECT_TRUE(loop_.Idle());
  EXPECT_EQ(loop_.NextTimer(), absl::InfiniteFuture()) << "nothing ticks at rest";
  int64_t sequence = 0;
  for (const auto& post : poster_.posts) {
    for (const OutputLine& line : post.lines) EXPECT_EQ(line.sequence, ++sequence);
  }
}

TEST_F(LogShipperTest, BatchesAreBoundedInBytes) {
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kA, Lines(100, std::string(64 * 1024, 'x')));
  Answer(0);
  EXPECT_LE(Posted(1).size(), 17u);
}

TEST_F(LogShipperTest, AllocationsDoNotWaitForEachOther) {
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kB, Lines(1));
  ASSERT_EQ(poster_.posts.size(), 2u);
  EXPECT_EQ(Posted(1)[0].sequence, 1);
}

TEST_F(LogShipperTest, TriesAgainWithTheSameLines) {
  shipper_.Add(kA, Lines(2));
  Answer(0, absl::UnavailableError("not now"));
  shipper_.Add(kA, Lines(1));
  EXPECT_EQ(poster_.posts.size(), 1u);
  loop_.Advance(Backoff::kLast);
  ASSERT_EQ(poster_.posts.size(), 2u);
  EXPECT_EQ(Posted(1), Posted(0));
  Answer(1, absl::UnavailableError("not now"));
  shipper_.TryNow();
  ASSERT_EQ(poster_.posts.size(), 3u);
  Answer(2);
  EXPECT_EQ(Posted(3).size(), 1u);
  EXPECT_EQ(Posted(3)[0].sequence, 3);
}

TEST_F(LogShipperTest, GivesUpWhatTheMasterRefusesForGood) {
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kA, Lines(1));
  Answer(0, absl::NotFoundError("no such allocation"));
  ASSERT_EQ(poster_.posts.size(), 2u);
  EXPECT_EQ(Posted(1)[0].sequence, 2);
}

TEST_F(LogShipperTest, FlushWaitsForTheLastLine) {
  int flushed = 0;
  shipper_.Flush(kB, [&] { ++flushed; });
  EXPECT_EQ(flushed, 1) << "nothing to wait for";
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kA, Lines(1));
  shipper_.Flush(kA, [&] { ++flushed; });
  Answer(0);
  EXPECT_EQ(flushed, 1);
  Answer(1);
  EXPECT_EQ(flushed, 2);
}

TEST_F(LogShipperTest, DropsTheOldestAndSaysSo) {
  shipper_.Add(kA, Lines(1, "first"));
  const size_t text = 64 * 1024 - sizeof(OutputLine);
  const int fitting = static_cast<int>(LogShipper::kWaitingBytes / (64 * 1024));
  shipper_.Add(kA, Lines(fitting + 5, std::string(text, 'x')));
  Answer(0);
  ASSERT_EQ(poster_.posts.size(), 2u);
  const OutputLine& notice = Posted(1)[0];
  EXPECT_EQ(notice.text, "5 lines were dropped here: the master did not take them in time");
  EXPECT_EQ(notice.source, "agent");
  EXPECT_EQ(notice.level, LogLevel::kWarning);
  EXPECT_EQ(notice.sequence, 6);
  EXPECT_EQ(Posted(1)[1].sequence, 7);
}

TEST(Backoff, GrowsToItsBoundWithJitter) {
  Backoff backoff(1);
  for (int round = 0; round < 2; ++round) {
    EXPECT_LE(backoff.Next(), Backoff::kFirst);
    absl::Duration longest;
    for (int i = 0; i < 50; ++i) longest = std::max(longest, backoff.Next());
    EXPECT_LE(longest, Backoff::kLast);
    EXPECT_GE(longest, Backoff::kLast / 2);
    backoff.Reset();
  }
}

}  // namespace
}  // namespace det::agent
