// Contract tests of Communicator, with one rank and with several processes.
#include "trial_api/cpp/core/communicator.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/exchange.h"
#include "trial_api/cpp/core/gloo_communicator.h"
#include "trial_api/cpp/core/hierarchical_communicator.h"
#include "trial_api/cpp/core/single_communicator.h"
#include "trial_api/cpp/core/testing.h"

namespace det::core {
namespace {

std::unique_ptr<Communicator> Connect(const Ranks& ranks, const std::string& dir) {
  if (ranks.size == 1) return MakeSingleCommunicator();
  return ConnectGloo(ranks, "127.0.0.1", *MakeDirectoryExchange(dir, std::chrono::seconds(30)));
}

// Ends the rank's process and prints the line that failed.
#define REQUIRE_THAT(condition)                                           \
  do {                                                                    \
    if (condition) break;                                                 \
    std::fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
    return 1;                                                             \
  } while (false)

template <class T>
bool IsSumCorrect(Communicator& communicator, DType dtype, size_t count) {
  const int size = communicator.ranks().size;
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>(i % 7 + static_cast<size_t>(communicator.ranks().rank));
  }
  communicator.AllReduceSum(values.data(), count, dtype);
  for (size_t i = 0; i < count; ++i) {
    const auto expected =
        (i % 7) * static_cast<size_t>(size) + static_cast<size_t>(size * (size - 1) / 2);
    if (values[i] != static_cast<T>(expected)) return false;
  }
  return true;
}

// Sums in a type that C++ does not have; `all[n]` is the sum of n times `one`.
bool IsBitSumCorrect(Communicator& communicator, DType dtype, uint16_t one,
                     const std::vector<uint16_t>& all) {
  const uint16_t expected = all[static_cast<size_t>(communicator.ranks().size)];
  for (const size_t count : {size_t{1}, size_t{70000}}) {
    std::vector<uint16_t> values(count, one);
    communicator.AllReduceSum(values.data(), count, dtype);
    if (values != std::vector<uint16_t>(count, expected)) return false;
  }
  return true;
}

// Reduces to the last rank.
bool Reduces(Communicator& communicator, size_t count) {
  const Ranks& ranks = communicator.ranks();
  std::vector<float> values(count, static_cast<float>(ranks.rank + 1));
  communicator.ReduceSum(values.data(), count, DType::kFloat32, ranks.size - 1);
  const auto sum = static_cast<float>(ranks.size * (ranks.size + 1) / 2);
  return ranks.rank != ranks.size - 1 || values == std::vector<float>(count, sum);
}

bool GathersBlocks(Communicator& communicator, size_t bytes) {
  const Ranks& ranks = communicator.ranks();
  const std::string mine(bytes, static_cast<char>('a' + ranks.rank));
  std::string all(bytes * static_cast<size_t>(ranks.size), '?');
  communicator.AllGatherBlocks(mine.data(), bytes, all.data());
  std::string expected;
  for (int rank = 0; rank < ranks.size; ++rank)
    expected.append(bytes, static_cast<char>('a' + rank));
  return all == expected;
}

// Even and odd ranks in separate groups, in reverse order.
bool Splits(Communicator& communicator) {
  const Ranks& ranks = communicator.ranks();
  std::vector<int> members;
  for (int rank = ranks.size - 1; rank >= 0; --rank) {
    if (rank % 2 == ranks.rank % 2) members.push_back(rank);
  }
  const std::unique_ptr<Communicator> group = communicator.Split("parity", members);
  if (group->ranks().size != static_cast<int>(members.size())) return false;
  if (members[static_cast<size_t>(group->ranks().rank)] != ranks.rank) return false;
  return IsSumCorrect<float>(*group, DType::kFloat32, 1001);
}

int Contract(Communicator& communicator) {
  const Ranks& ranks = communicator.ranks();
  for (const size_t count : {size_t{0}, size_t{1}, size_t{5}, size_t{16385}, size_t{34000},
                             size_t{262144}, size_t{262145}, size_t{1000003}}) {
    REQUIRE_THAT(IsSumCorrect<float>(communicator, DType::kFloat32, count));
  }
  REQUIRE_THAT(IsSumCorrect<double>(communicator, DType::kFloat64, 9));
  REQUIRE_THAT(IsSumCorrect<int32_t>(communicator, DType::kInt32, 9));
  REQUIRE_THAT(IsSumCorrect<int64_t>(communicator, DType::kInt64, 9));
  REQUIRE_THAT(IsSumCorrect<uint8_t>(communicator, DType::kUint8, 9));
  REQUIRE_THAT(
      IsBitSumCorrect(communicator, DType::kFloat16, 0x3c00, {0, 0x3c00, 0x4000, 0x4200, 0x4400}));
  REQUIRE_THAT(
      IsBitSumCorrect(communicator, DType::kBFloat16, 0x3f80, {0, 0x3f80, 0x4000, 0x4040, 0x4080}));
  for (const size_t count : {size_t{0}, size_t{1}, size_t{70000}}) {
    REQUIRE_THAT(Reduces(communicator, count));
    REQUIRE_THAT(GathersBlocks(communicator, count));
  }
  REQUIRE_THAT(Splits(communicator));

  const int last = ranks.size - 1;
  std::vector<int> values(1000, ranks.rank == last ? 42 : 0);
  communicator.Broadcast(values.data(), values.size() * sizeof(int), last);
  REQUIRE_THAT(std::accumulate(values.begin(), values.end(), 0) == 42000);
  communicator.Broadcast(nullptr, 0, 0);

  const std::string mine(static_cast<size_t>(ranks.rank) * 3, static_cast<char>('a' + ranks.rank));
  const std::vector<std::string> all = communicator.AllGather(mine);
  REQUIRE_THAT(all.size() == static_cast<size_t>(ranks.size));
  for (int rank = 0; rank < ranks.size; ++rank) {
    REQUIRE_THAT(all[rank].size() == static_cast<size_t>(rank) * 3);
  }
  REQUIRE_THAT(all[ranks.rank] == mine);
  REQUIRE_THAT(communicator.AllGather("").front().empty());
  communicator.Barrier();

  // Two channels at the same time, each used by its own thread, in any interleaving.
  const std::unique_ptr<Communicator> second = communicator.Duplicate("second");
  bool second_ok = true;
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) second_ok &= IsSumCorrect<float>(*second, DType::kFloat32, 1001);
  });
  bool first_ok = true;
  for (int i = 0; i < 50; ++i) first_ok &= IsSumCorrect<double>(communicator, DType::kFloat64, 77);
  other.join();
  REQUIRE_THAT(first_ok && second_ok);
  return 0;
}

// Records the sizes of its groups.
class CountingCommunicator : public Communicator {
 public:
  explicit CountingCommunicator(Communicator& inner) : inner_(inner), to_(trace) {}
  CountingCommunicator(std::unique_ptr<Communicator> inner, std::vector<std::string>& to)
      : owned_(std::move(inner)), inner_(*owned_), to_(to) {}

  std::vector<std::string> trace;

  const Ranks& ranks() const override { return inner_.ranks(); }
  void AllReduceSum(void* data, size_t count, DType dtype) override {
    Trace("all-reduce");
    inner_.AllReduceSum(data, count, dtype);
  }
  void ReduceSum(void* data, size_t count, DType dtype, int root) override {
    Trace("reduce");
    inner_.ReduceSum(data, count, dtype, root);
  }
  void Broadcast(void* data, size_t bytes, int root) override {
    Trace("broadcast");
    inner_.Broadcast(data, bytes, root);
  }
  std::vector<std::string> AllGather(const std::string& mine) override {
    return inner_.AllGather(mine);
  }
  void AllGatherBlocks(const void* mine, size_t bytes, void* all) override {
    inner_.AllGatherBlocks(mine, bytes, all);
  }
  void Barrier() override { inner_.Barrier(); }
  std::unique_ptr<Communicator> Duplicate(const std::string& name) override {
    return inner_.Duplicate(name);
  }
  std::unique_ptr<Communicator> Split(const std::string& name,
                                      const std::vector<int>& members) override {
    return std::make_unique<CountingCommunicator>(inner_.Split(name, members), to_);
  }

 private:
  void Trace(const std::string& what) {
    to_.push_back(what + " of " + std::to_string(ranks().size));
  }

  const std::unique_ptr<Communicator> owned_;
  Communicator& inner_;
  std::vector<std::string>& to_;
};

class CommunicatorContract : public testing::TestWithParam<int> {};

TEST_P(CommunicatorContract, PerformsAllOperations) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  const int size = GetParam();
  const std::vector<int> ends =
      RunRanks(size, [&](const Ranks& ranks) { return Contract(*Connect(ranks, dir->path())); });
  EXPECT_EQ(ends, std::vector<int>(size, 0));
}

INSTANTIATE_TEST_SUITE_P(Sizes, CommunicatorContract, testing::Values(1, 2, 3, 4));

// Ranks 0, 2 (and 3) are on one node, rank 1 is on another.
TEST_P(CommunicatorContract, PerformsAllOperations_WhenHierarchical) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  const int size = GetParam();
  const std::vector<int> ends = RunRanks(size, [&](Ranks ranks) {
    ranks.cross_rank = ranks.rank == 1 ? 1 : 0;
    const std::unique_ptr<Communicator> all = Connect(ranks, dir->path());
    return Contract(*MakeHierarchicalCommunicator(*all));
  });
  EXPECT_EQ(ends, std::vector<int>(size, 0));
}

// Only one rank of each node communicates with other nodes.
TEST(HierarchicalCommunicatorTest, OnlyFirstRanksOfNodesCommunicateBetweenNodes) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  const std::vector<int> ends = RunRanks(4, [&](Ranks ranks) {
    ranks.cross_rank = ranks.rank / 2;
    const std::unique_ptr<Communicator> all = Connect(ranks, dir->path());
    CountingCommunicator counting(*all);
    const auto hierarchical = MakeHierarchicalCommunicator(counting);
    float one = 1;
    hierarchical->AllReduceSum(&one, 1, DType::kFloat32);
    REQUIRE_THAT(one == 4);
    const std::vector<std::string> expected =
        ranks.rank % 2 == 0
            ? std::vector<std::string>{"reduce of 2", "all-reduce of 2", "broadcast of 2"}
            : std::vector<std::string>{"reduce of 2", "all-reduce of 1", "broadcast of 2"};
    REQUIRE_THAT(counting.trace == expected);
    return 0;
  });
  EXPECT_EQ(ends, std::vector<int>(4, 0));
}

// Returns what the other ranks throw if rank 1 ends instead of taking part.
std::string MessageOfSurvivor(const Ranks& ranks, const std::string& dir,
                              const std::function<void(Communicator&)>& operation) {
  const std::unique_ptr<Communicator> communicator = Connect(ranks, dir);
  communicator->Barrier();
  if (ranks.rank == 1) ::raise(SIGKILL);
  try {
    operation(*communicator);
  } catch (const PeerGone& e) {
    return e.what();
  }
  return "nothing was thrown";
}

void ExpectDeathIsNoticed(int size, const std::string& prefix,
                          const std::function<void(Communicator&)>& operation) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  const std::vector<int> ends = RunRanks(size, [&](const Ranks& ranks) {
    const std::string message = MessageOfSurvivor(ranks, dir->path(), operation);
    std::fprintf(stderr, "rank %d: %s\n", ranks.rank, message.c_str());
    // Rank 2 may report rank 0, which ended because of rank 1.
    const bool named = message.find("rank 1") != std::string::npos || size > 2;
    return message.rfind(prefix, 0) == 0 && named ? 0 : 1;
  });
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(ends[rank], rank == 1 ? -SIGKILL : 0);
}

TEST(GlooCommunicatorTest, AllReduceNamesLostPeer) {
  ExpectDeathIsNoticed(2, "all-reduce: ", [](Communicator& communicator) {
    std::vector<float> values(100'000, 1);
    communicator.AllReduceSum(values.data(), values.size(), DType::kFloat32);
  });
}

TEST(GlooCommunicatorTest, BarrierNamesLostPeer) {
  ExpectDeathIsNoticed(2, "barrier: ", [](Communicator& c) { c.Barrier(); });
}

TEST(GlooCommunicatorTest, AllGatherNamesLostPeer) {
  ExpectDeathIsNoticed(3, "all-gather: ", [](Communicator& c) { c.AllGather("x"); });
}

TEST(GlooCommunicatorTest, DuplicateNamesLostPeer) {
  ExpectDeathIsNoticed(2, "all-gather: ", [](Communicator& c) { c.Duplicate("second"); });
}

// Simulates a rank that writes to another that has just ended.
TEST(GlooCommunicatorTest, SurvivesWriteToClosedConnection) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  const std::vector<int> ends = RunRanks(2, [&](const Ranks& ranks) {
    const std::unique_ptr<Communicator> communicator = Connect(ranks, dir->path());
    int ends_of_pipe[2];
    REQUIRE_THAT(::pipe(ends_of_pipe) == 0);
    ::close(ends_of_pipe[0]);
    REQUIRE_THAT(::write(ends_of_pipe[1], "x", 1) == -1);
    return 0;
  });
  EXPECT_EQ(ends, (std::vector<int>{0, 0}));
}

// Rank 1 takes part in the first step of Duplicate, the exchange of addresses, and then ends.
TEST(GlooCommunicatorTest, ThrowsPeerGone_WhenPeerEndsDuringDuplicate) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  const std::vector<int> ends = RunRanks(2, [&](const Ranks& ranks) {
    const std::unique_ptr<Communicator> communicator = Connect(ranks, dir->path());
    if (ranks.rank == 1) {
      communicator->AllGather("no address");
      return 0;
    }
    try {
      communicator->Duplicate("second");
    } catch (const PeerGone& e) {
      std::fprintf(stderr, "rank 0: %s\n", e.what());
      return std::string(e.what()).rfind("opening a channel: ", 0) == 0 ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(ends, (std::vector<int>{0, 0}));
}

TEST(DirectoryExchangeTest, NamesMissingRank) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  const auto exchange = MakeDirectoryExchange(dir->path(), std::chrono::seconds(0));
  try {
    exchange->AllGather("key", OneMachine(0, 2), "x");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("rank 1 did not appear"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace det::core
