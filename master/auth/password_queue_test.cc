#include "master/auth/password_queue.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fake_event_loop.h"
#include "gtest/gtest.h"

namespace det::auth {
namespace {

// Blocks work until it is opened.
class Gate {
 public:
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class Results {
 public:
  PasswordQueue::Done Next() {
    return [this](const absl::Status& status) {
      std::lock_guard lock(mutex_);
      codes_.push_back(status.code());
      changed_.notify_all();
    };
  }
  std::vector<absl::StatusCode> Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return codes_.size() >= count; });
    return codes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<absl::StatusCode> codes_;
};

TEST(PasswordQueueTest, RejectsWork_WhenFull) {
  base::FakeEventLoop loop;
  PasswordQueue queue(&loop);
  Gate gate;
  Results results;
  for (int i = 0; i < PasswordQueue::kMaxQueued; ++i) {
    queue.Run(
        [&gate] {
          gate.Pass();
          return absl::OkStatus();
        },
        results.Next());
  }
  absl::Status refused;
  queue.Run([] { return absl::OkStatus(); }, [&](const absl::Status& status) { refused = status; });
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  gate.Open();
  results.Await(PasswordQueue::kMaxQueued);
  queue.Run([] { return absl::NotFoundError(""); }, results.Next());
  EXPECT_EQ(results.Await(PasswordQueue::kMaxQueued + 1).back(), absl::StatusCode::kNotFound);
}

TEST(PasswordQueueTest, DelaysLoginAfterFailures) {
  base::FakeEventLoop loop;
  PasswordQueue queue(&loop);
  Results results;
  size_t count = 0;
  const auto log_in = [&](const std::string& user, absl::Status status) {
    queue.RunLogin(
        user, [status] { return status; }, results.Next());
  };
  for (int i = 0; i < FailedLogins::kFreeFailures; ++i) {
    log_in("ann", absl::UnauthenticatedError(""));
    results.Await(++count);
  }
  log_in("ann", absl::OkStatus());
  log_in("ben", absl::OkStatus());
  EXPECT_EQ(results.Await(++count).size(), count) << "only ben's login is done";
  loop.AdvanceTo(loop.Now() + FailedLogins::kInitialDelay);
  EXPECT_EQ(results.Await(++count).back(), absl::StatusCode::kOk);
  log_in("ann", absl::OkStatus());
  results.Await(++count);
}

TEST(PasswordQueueTest, RejectsWorkAfterStop) {
  base::FakeEventLoop loop;
  PasswordQueue queue(&loop);
  queue.Stop();
  absl::Status refused;
  queue.Run([] { return absl::OkStatus(); }, [&](const absl::Status& status) { refused = status; });
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
}

}  // namespace
}  // namespace det::auth
