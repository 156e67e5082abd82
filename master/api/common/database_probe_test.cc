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
  void Ask() {
    probe_.Ask([this](const absl::Status& status) { answers_.push_back(status); });
    loop_.RunUntilIdle();
  }
  // The ping under way ends, and its answer is heard.
  void Ping(const absl::Status& status) {
    answer_.set_value(status);
    std::promise<void> behind;
    pool_.Post([&] { behind.set_value(); });
    behind.get_future().wait();
    answer_ = {};
    loop_.RunUntilIdle();
  }

  int pings_ = 0;
  std::promise<absl::Status> answer_;  // of the next ping
  base::ThreadPool pool_{1};
  base::FakeEventLoop loop_;
  DatabaseProbe probe_{[this] {
                         ++pings_;
                         return answer_.get_future().get();
                       },
                       &pool_, &loop_};
  std::vector<absl::Status> answers_;
};

TEST_F(DatabaseProbeTest, AllWhoAskShareOnePing) {
  Ask();
  Ask();
  Ping(absl::OkStatus());
  EXPECT_EQ(answers_, std::vector<absl::Status>(2));
  EXPECT_EQ(pings_, 1);
  EXPECT_EQ(loop_.NextTimer(), absl::InfiniteFuture());
}

TEST_F(DatabaseProbeTest, AnErrorIsUnavailable) {
  Ask();
  Ping(absl::InternalError("boom"));
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0], absl::UnavailableError("the database does not answer: boom"));
}

TEST_F(DatabaseProbeTest, ADatabaseThatHangsIsSaidToAndNotAskedAgain) {
  Ask();
  loop_.Advance(DatabaseProbe::kDeadline - absl::Seconds(1));
  EXPECT_TRUE(answers_.empty());
  loop_.Advance(absl::Seconds(1));
  loop_.RunUntilIdle();
  const absl::Status silence = absl::UnavailableError("the database has not answered for 5 s");
  EXPECT_EQ(answers_, std::vector<absl::Status>{silence});
  Ask();
  EXPECT_EQ(answers_, (std::vector<absl::Status>{silence, silence}));
  // When it goes on, so do we.
  Ping(absl::OkStatus());
  EXPECT_EQ(answers_.size(), 2u);
  Ask();
  Ping(absl::OkStatus());
  EXPECT_EQ(answers_.back(), absl::OkStatus());
  EXPECT_EQ(pings_, 2);
}

}  // namespace
}  // namespace det::api
