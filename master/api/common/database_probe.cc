#include "master/api/common/database_probe.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace det::api {

void DatabaseProbe::Check(Done done) {
  loop_.Post([this, done = std::move(done)]() mutable {
    waiting_.push_back(std::move(done));
    if (timed_out_) return OnTimeout();
    if (!pinging_) Start();
  });
}

void DatabaseProbe::Start() {
  pinging_ = true;
  timer_ = loop_.PostAfter(kDeadline, [this] { OnTimeout(); });
  pool_.Post([this] { loop_.Post([this, status = ping_()] { OnPingDone(status); }); });
}

void DatabaseProbe::OnPingDone(const absl::Status& status) {
  if (timer_) loop_.Cancel(*std::exchange(timer_, std::nullopt));
  pinging_ = false;
  timed_out_ = false;
  NotifyWaiting(status.ok() ? status
                            : absl::UnavailableError(absl::StrCat("the database does not answer: ",
                                                                  status.message())));
}

void DatabaseProbe::OnTimeout() {
  timer_.reset();
  timed_out_ = true;
  NotifyWaiting(absl::UnavailableError(
      absl::StrCat("the database has not answered for ", absl::ToInt64Seconds(kDeadline), " s")));
}

void DatabaseProbe::NotifyWaiting(const absl::Status& status) {
  for (Done& done : std::exchange(waiting_, {})) done(status);
}

}  // namespace det::api
