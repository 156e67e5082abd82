#include "master/app/lease.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/app/standby.h"
#include "master/store/testing/fake_store.h"

namespace det::app {
namespace {

using Verdict = LeaseWatch::Verdict;
using ::testing::ElementsAre;

constexpr absl::Duration kLength = absl::Seconds(6);

store::LeaseRecord At(int64_t epoch, std::optional<int64_t> renewals) {
  return {.epoch = epoch, .renewals = renewals, .leader = "http://a:1"};
}

TEST(LeaseWatchTest, DecidesFromObservations) {
  struct Observation {
    double at;
    std::optional<store::LeaseRecord> lease;  // nullopt: the database did not answer
    Verdict verdict;
  };
  struct Case {
    const char* name;
    std::vector<Observation> observations;
  };
  const auto alive = Verdict::kAlive, over = Verdict::kOver;
  const Case kCases[] = {
      {"no master has led", {{0, At(0, std::nullopt), Verdict::kNobody}}},
      {"a leader that renews",
       {{0, At(3, 1), alive},
        {2, At(3, 2), alive},
        {4, At(3, 3), alive},
        {6, At(3, 4), alive},
        {8, At(3, 5), alive}}},
      {"a leader that is dead from the start",
       {{100, At(3, 7), alive},
        {102, At(3, 7), alive},
        {104, At(3, 7), alive},
        {105.9, At(3, 7), alive},
        {106, At(3, 7), over}}},
      {"a leader that dies",
       {{0, At(3, 7), alive},
        {2, At(3, 8), alive},
        {5, At(3, 8), alive},
        {7.9, At(3, 8), alive},
        {8, At(3, 8), over}}},
      {"a leader that is late",
       {{0, At(3, 7), alive},
        {3, At(3, 7), alive},
        {5.9, At(3, 7), alive},
        {6, At(3, 8), alive},
        {9, At(3, 8), alive},
        {11.9, At(3, 8), alive}}},
      {"another takes over first",
       {{0, At(3, 7), alive},
        {3, At(3, 7), alive},
        {5.5, At(4, 7), alive},
        {8, At(4, 7), alive},
        {11, At(4, 7), alive},
        {11.5, At(4, 7), over}}},
      {"the database was unavailable, also for the leader",
       {{0, At(3, 7), alive},
        {3, std::nullopt, alive},
        {6, At(3, 7), alive},
        {9, At(3, 7), alive},
        {11.9, At(3, 7), alive},
        {12, At(3, 7), over}}},
      {"the standby was suspended",
       {{0, At(3, 7), alive},
        {3, At(3, 7), alive},
        {60, At(3, 7), alive},
        {62, At(3, 7), alive},
        {64, At(3, 7), alive},
        {66, At(3, 7), over}}},
      {"a leader without a lease",
       {{0, At(3, std::nullopt), Verdict::kNoLease}, {60, At(3, std::nullopt), Verdict::kNoLease}}},
      {"a leader that begins to keep a lease",
       {{0, At(3, std::nullopt), Verdict::kNoLease},
        {2, At(4, 1), alive},
        {5, At(4, 1), alive},
        {8, At(4, 1), over}}},
  };
  for (const Case& each : kCases) {
    LeaseWatch watch(kLength);
    for (const Observation& observation : each.observations) {
      if (!observation.lease) {
        watch.Missed();
      } else {
        EXPECT_EQ(watch.Observe(*observation.lease, absl::Seconds(observation.at)),
                  observation.verdict)
            << each.name << " at " << observation.at;
      }
    }
  }
}

TEST(LeaseHoldTest, ExpiresBeforeStandbyTakesOver) {
  LeaseHold hold(kLength, absl::Seconds(10));
  EXPECT_FALSE(hold.IsOver(absl::Seconds(15.9)));
  EXPECT_TRUE(hold.IsOver(absl::Seconds(16)));
  hold.Renewed(absl::Seconds(15));
  EXPECT_FALSE(hold.IsOver(absl::Seconds(20.9)));
  EXPECT_TRUE(hold.IsOver(absl::Seconds(21)));

  // A standby observes a renewal that is sent at 15 at 15 or later.
  LeaseWatch watch(kLength);
  EXPECT_EQ(watch.Observe(At(1, 1), absl::Seconds(15)), Verdict::kAlive);
  EXPECT_EQ(watch.Observe(At(1, 1), absl::Seconds(18)), Verdict::kAlive);
  EXPECT_EQ(watch.Observe(At(1, 1), absl::Seconds(20.9)), Verdict::kAlive);
  EXPECT_EQ(watch.Observe(At(1, 1), absl::Seconds(21)), Verdict::kOver);
}

// A standby with its own clock; the test counts its waits.
TEST(AwaitLeadTest, ClaimsEmptyDatabaseImmediately) {
  store::FakeStore store;
  WaitForStop never = [](absl::Duration) { return true; };
  EXPECT_TRUE(AwaitLead(store, LeaseTimes(), never).ok());
  EXPECT_EQ(store.ReadLease()->epoch, 0);
}

TEST(AwaitLeadTest, StopsWhileWaiting) {
  const auto database = store::MakeFakeDatabase();
  store::FakeStore leader(database), standby(database);
  ASSERT_TRUE(leader.Load().ok());
  int observations = 0;
  WaitForStop third = [&](absl::Duration) { return ++observations == 3; };
  EXPECT_TRUE(absl::IsCancelled(AwaitLead(standby, LeaseTimes(), third)));
  EXPECT_EQ(standby.ReadLease()->epoch, 1);
}

TEST(AwaitLeadTest, ClaimsExpiredLease) {
  const auto database = store::MakeFakeDatabase();
  store::FakeStore leader(database), standby(database);
  ASSERT_TRUE(*leader.ClaimLease(std::nullopt));
  ASSERT_TRUE(leader.Load().ok());
  // A lease with length zero has expired when it is first observed.
  WaitForStop stop = [](absl::Duration) { return true; };
  const LeaseTimes times = {.renew_every = absl::Seconds(1), .length = absl::ZeroDuration()};
  EXPECT_TRUE(AwaitLead(standby, times, stop).ok());
  EXPECT_TRUE(absl::IsAborted(leader.Commit(1, {})));
  EXPECT_EQ(standby.ReadLease()->epoch, 3);
}

// Records the keeper's notifications in order.
class LeadershipLog {
 public:
  void Record(bool leads) {
    std::lock_guard lock(mutex_);
    entries_.push_back(leads);
    changed_.notify_all();
  }
  std::vector<bool> Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entries_.size() >= count; });
    return entries_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> entries_;
};

TEST(LeaseKeeperTest, ExpiresUnrenewedLease) {
  const auto database = store::MakeFakeDatabase();
  store::FakeStore leader(database), other(database);
  ASSERT_TRUE(leader.Load().ok());
  ASSERT_TRUE(other.Load().ok());  // the leader's renewals are refused from now on
  LeadershipLog log;
  const LeaseKeeper keeper(&leader,
                           {.renew_every = absl::Milliseconds(5), .length = absl::Milliseconds(20)},
                           [&](bool leads) { log.Record(leads); });
  EXPECT_THAT(log.Await(1), ElementsAre(false));
}

TEST(LeaseKeeperTest, PublishesLeaderUrl) {
  const auto database = store::MakeFakeDatabase();
  store::FakeStore leader(database), standby(database);
  ASSERT_TRUE(leader.Load().ok());
  LeaseKeeper keeper(&leader, {.renew_every = absl::Milliseconds(1), .length = absl::Hours(1)},
                     [](bool) { FAIL() << "the leadership did not change"; });
  keeper.Announce("http://a:1");
  while (standby.ReadLease()->leader != "http://a:1") std::this_thread::yield();
  const int64_t before = *standby.ReadLease()->renewals;
  while (*standby.ReadLease()->renewals == before) std::this_thread::yield();
}

}  // namespace
}  // namespace det::app
