#include "master/api/common/database_probe.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace det::api {

void DatabaseProbe::Ask(Done done) {
  loop_.Post([this, done = std::move(done)]() mutable {
    waiting_.push_back(std::move(done));
    if (silent_) return OnSilence();
    if (!under_way_) Start();
  });
}

void DatabaseProbe::Start() {
  under_way_ = true;
  timer_ = loop_.PostAfter(kDeadline, [this] { OnSilence(); });
  pool_.Post([this] { loop_.Post([this, status = ping_()] { OnAnswer(status); }); });
}

void DatabaseProbe::OnAnswer(const absl::Status& status) {
  if (timer_) loop_.Cancel(*std::exchange(timer_, std::nullopt));
  under_way_ = false;
  silent_ = false;
  Answer(status.ok() ? status
                     : absl::UnavailableError(
                           absl::StrCat("the database does not answer: ", status.message())));
}

void DatabaseProbe::OnSilence() {
  timer_.reset();
  silent_ = true;
  Answer(absl::UnavailableError(
      absl::StrCat("the database has not answered for ", absl::ToInt64Seconds(kDeadline), " s")));
}

void DatabaseProbe::Answer(const absl::Status& status) {
  for (Done& done : std::exchange(waiting_, {})) done(status);
}

}  // namespace det::api
