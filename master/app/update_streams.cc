#include "master/app/update_streams.h"

#include <chrono>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "master/api/updates/update_follower.h"
#include "master/auth/permissions.h"
#include "master/core/model/permission.h"

namespace det::app {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(250);

// The user with this token; PERMISSION_DENIED for agents and tasks.
absl::StatusOr<auth::Principal> FindUser(auth::Authenticator& authenticator,
                                         const std::string& authorization) {
  DET_ASSIGN_OR_RETURN(auth::Principal client, authenticator.Authenticate(authorization));
  if (client.kind == auth::PrincipalKind::kNobody) {
    return absl::UnauthenticatedError("log in to follow updates");
  }
  if (client.kind != auth::PrincipalKind::kUser) {
    return absl::PermissionDeniedError("only users can follow updates");
  }
  return client;
}

}  // namespace

class UpdateStreams::Feed final : public gateway::UpdateFeed {
 public:
  Feed(UpdateStreams* streams, std::string authorization, std::shared_ptr<void> slot,
       std::function<void()> wake)
      : streams_(*streams),
        state_(std::make_shared<State>(streams->parts_, std::move(authorization), std::move(slot))),
        subscription_(streams->changed_.Subscribe(0, std::move(wake))) {}
  ~Feed() override { streams_.changed_.Unsubscribe(0, subscription_); }

  void Next(std::optional<std::string> request, Reply reply) override {
    streams_.parts_.pool->Post(
        [state = state_, request = std::move(request), reply = std::move(reply)]() mutable {
          reply(state->Next(request));
        });
  }

 private:
  // What a job on the pool uses, which may run after the end of the connection.
  struct State {
    State(const Parts& parts, std::string header, std::shared_ptr<void> held)
        : authenticator(*parts.authenticator),
          authorization(std::move(header)),
          slot(std::move(held)),
          follower(parts.records) {}

    absl::StatusOr<std::vector<std::string>> Next(const std::optional<std::string>& request) {
      DET_ASSIGN_OR_RETURN(const auth::Principal client, FindUser(authenticator, authorization));
      if (request) DET_RETURN_IF_ERROR(follower.Subscribe(*request));
      return follower.Next({.projects = client.Visible(model::Permission::kViewProject),
                            .models = client.Visible(model::Permission::kViewModelRegistry)});
    }

    auth::Authenticator& authenticator;
    const std::string authorization;
    const std::shared_ptr<void> slot;  // counts as a stream of the user
    api::UpdateFollower follower;
  };

  UpdateStreams& streams_;
  const std::shared_ptr<State> state_;
  const int64_t subscription_;
};

UpdateStreams::UpdateStreams(const Parts& parts) : parts_(parts), thread_([this] { Watch(); }) {}

UpdateStreams::~UpdateStreams() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void UpdateStreams::Open(
    const std::string& authorization, std::function<void()> wake,
    absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<gateway::UpdateFeed>>)> reply) {
  parts_.pool->Post(
      [this, authorization, wake = std::move(wake), reply = std::move(reply)]() mutable {
        const auto open = [&]() -> absl::StatusOr<std::unique_ptr<gateway::UpdateFeed>> {
          DET_ASSIGN_OR_RETURN(const auth::Principal client,
                               FindUser(*parts_.authenticator, authorization));
          DET_ASSIGN_OR_RETURN(std::shared_ptr<void> slot, parts_.authorizer->OpenStream(client));
          return std::make_unique<Feed>(this, authorization, std::move(slot), std::move(wake));
        };
        reply(open());
      });
}

std::pair<int64_t, int64_t> UpdateStreams::ReadState() {
  const absl::StatusOr<int64_t> last_change = parts_.records->GetLastChange();
  // -1 while the database is unavailable.
  return {last_change.value_or(-1), parts_.authenticator->GetInvalidations()};
}

void UpdateStreams::Watch() {
  std::pair<int64_t, int64_t> state;
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, kPeriod, [this] { return stopped_; })) {
    if (!changed_.HasSubscribers(0)) continue;
    lock.unlock();
    const std::pair<int64_t, int64_t> now = ReadState();
    if (now != state && now.first >= 0) {
      state = now;
      changed_.Notify(0);
    }
    lock.lock();
  }
}

}  // namespace det::app
