#include "master/api/common/database_probe.h"

#include <future>
#include <vector>

#include "base/fake_event_loop.h"
#include "gtest/gtest.h"

namespace det::api {
namespace {

class DatabaseProbeTest : public testing::Test {
 protected:
  ~DatabaseProbeTest() override {
    pool_.Stop();
    loop_.Stop();
  }
  void Check() {
    probe_.Check([this](const absl::Status& status) { results_.push_back(status); });
    loop_.RunUntilIdle();
  }
  // Ends the running ping and delivers its result.
  void Ping(const absl::Status& status) {
    ping_result_.set_value(status);
    std::promise<void> behind;
    pool_.Post([&] { behind.set_value(); });
    behind.get_future().wait();
    ping_result_ = {};
    loop_.RunUntilIdle();
  }

  int pings_ = 0;
  std::promise<absl::Status> ping_result_;  // result of the next ping
  base::ThreadPool pool_{1};
  base::FakeEventLoop loop_;
  DatabaseProbe probe_{[this] {
                         ++pings_;
                         return ping_result_.get_future().get();
                       },
                       &pool_, &loop_};
  std::vector<absl::Status> results_;
};

TEST_F(DatabaseProbeTest, ConcurrentChecksShareOnePing) {
  Check();
  Check();
  Ping(absl::OkStatus());
  EXPECT_EQ(results_, std::vector<absl::Status>(2));
  EXPECT_EQ(pings_, 1);
  EXPECT_EQ(loop_.NextTimer(), absl::InfiniteFuture());
}

TEST_F(DatabaseProbeTest, ReportsAnErrorAsUnavailable) {
  Check();
  Ping(absl::InternalError("boom"));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0], absl::UnavailableError("the database does not answer: boom"));
}

TEST_F(DatabaseProbeTest, DoesNotPingAgain_WhileAPingHangs) {
  Check();
  loop_.Advance(DatabaseProbe::kDeadline - absl::Seconds(1));
  EXPECT_TRUE(results_.empty());
  loop_.Advance(absl::Seconds(1));
  loop_.RunUntilIdle();
  const absl::Status timeout = absl::UnavailableError("the database has not answered for 5 s");
  EXPECT_EQ(results_, std::vector<absl::Status>{timeout});
  Check();
  EXPECT_EQ(results_, (std::vector<absl::Status>{timeout, timeout}));
  // When the ping ends, checks ping again.
  Ping(absl::OkStatus());
  EXPECT_EQ(results_.size(), 2u);
  Check();
  Ping(absl::OkStatus());
  EXPECT_EQ(results_.back(), absl::OkStatus());
  EXPECT_EQ(pings_, 2);
}

}  // namespace
}  // namespace det::api
