#include "agent/link/log_shipper.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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
  // Returns lines with the next numbers.
  std::vector<OutputLine> Lines(int count, const std::string& text = "x") {
    std::vector<OutputLine> lines(static_cast<size_t>(count));
    for (OutputLine& line : lines) {
      line.text = text;
      line.sequence = ++last_sequence_;
    }
    return lines;
  }
  void Answer(size_t post, const absl::Status& status = absl::OkStatus()) {
    ASSERT_LT(post, poster_.posts.size());
    loop_.Post([&] { poster_.posts[post].done(status); });
    loop_.RunUntilIdle();
  }
  const std::vector<OutputLine>& Posted(size_t post) { return poster_.posts.at(post).lines; }

  base::FakeEventLoop loop_;
  FakePoster poster_;
  int64_t last_sequence_ = 0;
  std::map<AllocationId, int64_t> delivered_;
  LogShipper shipper_{&loop_, &poster_, 7,
                      [this](const AllocationId& allocation, int64_t sequence) {
                        EXPECT_GT(sequence, delivered_[allocation]);
                        delivered_[allocation] = sequence;
                      }};
};

TEST_F(LogShipperTest, SendsFirstLineAtOnceThenBatches) {
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
  EXPECT_TRUE(loop_.IsIdle());
  EXPECT_EQ(loop_.NextTimer(), absl::InfiniteFuture()) << "no timer runs when idle";
  int64_t sequence = 0;
  for (const auto& post : poster_.posts) {
    for (const OutputLine& line : post.lines) EXPECT_EQ(line.sequence, ++sequence);
  }
}

TEST_F(LogShipperTest, LimitsBatchesInBytes) {
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kA, Lines(100, std::string(64 * 1024, 'x')));
  Answer(0);
  EXPECT_LE(Posted(1).size(), 17u);
}

TEST_F(LogShipperTest, SendsAllocationsIndependently) {
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kB, Lines(1));
  ASSERT_EQ(poster_.posts.size(), 2u);
  Answer(1);
  EXPECT_EQ(delivered_[kA], 0);
  EXPECT_EQ(delivered_[kB], 2);
}

TEST_F(LogShipperTest, RetriesWithSameLines) {
  shipper_.Add(kA, Lines(2));
  Answer(0, absl::UnavailableError("not now"));
  shipper_.Add(kA, Lines(1));
  EXPECT_EQ(poster_.posts.size(), 1u);
  loop_.Advance(Backoff::kMax);
  ASSERT_EQ(poster_.posts.size(), 2u);
  EXPECT_EQ(Posted(1), Posted(0));
  Answer(1, absl::UnavailableError("not now"));
  shipper_.RetryNow();
  ASSERT_EQ(poster_.posts.size(), 3u);
  Answer(2);
  EXPECT_EQ(Posted(3).size(), 1u);
  EXPECT_EQ(Posted(3)[0].sequence, 3);
  EXPECT_EQ(delivered_[kA], 2);
}

TEST_F(LogShipperTest, RetriesUnimplemented) {
  shipper_.Add(kA, Lines(1));
  Answer(0, absl::UnimplementedError("404 of a proxy"));
  EXPECT_EQ(delivered_[kA], 0);
  loop_.Advance(Backoff::kMax);
  EXPECT_EQ(poster_.posts.size(), 2u);
}

TEST_F(LogShipperTest, DropsLines_WhenRejectedPermanently) {
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kA, Lines(1));
  Answer(0, absl::NotFoundError("no such allocation"));
  ASSERT_EQ(poster_.posts.size(), 2u);
  EXPECT_EQ(Posted(1)[0].sequence, 2);
  EXPECT_EQ(delivered_[kA], 1) << "the spool may remove them";
}

TEST_F(LogShipperTest, FlushWaitsForLastLine) {
  int flushed = 0;
  shipper_.Flush(kB, [&] { ++flushed; });
  EXPECT_EQ(flushed, 0) << "more lines may follow";
  shipper_.End(kB);
  EXPECT_EQ(flushed, 1) << "nothing to wait for";
  shipper_.Add(kA, Lines(1));
  shipper_.Add(kA, Lines(1));
  shipper_.Flush(kA, [&] { ++flushed; });
  Answer(0);
  EXPECT_EQ(flushed, 1);
  Answer(1);
  shipper_.Add(kA, Lines(1));
  shipper_.End(kA);
  EXPECT_EQ(flushed, 1) << "these lines came after the exit";
  Answer(2);
  EXPECT_EQ(flushed, 2);
  EXPECT_EQ(delivered_[kA], 3);
}

TEST(BackoffTest, GrowsToMaximumWithJitter) {
  Backoff backoff(1);
  for (int round = 0; round < 2; ++round) {
    EXPECT_LE(backoff.Next(), Backoff::kInitial);
    absl::Duration longest;
    for (int i = 0; i < 50; ++i) longest = std::max(longest, backoff.Next());
    EXPECT_LE(longest, Backoff::kMax);
    EXPECT_GE(longest, Backoff::kMax / 2);
    backoff.Reset();
  }
}

}  // namespace
}  // namespace det::agent
