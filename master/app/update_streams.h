// The clients of the websocket /stream: authenticates each, runs its api::UpdateFollower on the
// pool, and wakes them when a streamed record or a user's permissions have changed.
//
// Created by master.cc if the feature switch "streaming_updates" is set. Any thread. A thread of
// its own looks for changes while there are clients; other masters change the same database.
#ifndef MASTER_APP_UPDATE_STREAMS_H_
#define MASTER_APP_UPDATE_STREAMS_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "master/api/authz/authorizer.h"
#include "master/auth/authenticator.h"
#include "master/gateway/http_server.h"
#include "master/live/topic.h"
#include "master/store/interfaces/streamed_records.h"

namespace det::app {

class UpdateStreams {
 public:
  // All must outlive it and its feeds.
  struct Parts {
    store::StreamedRecords* records = nullptr;
    auth::Authenticator* authenticator = nullptr;
    api::Authorizer* authorizer = nullptr;
    base::ThreadPool* pool = nullptr;
  };
  explicit UpdateStreams(const Parts& parts);
  ~UpdateStreams();

  // gateway::HttpHooks::open_updates. UNAUTHENTICATED without a user's token; RESOURCE_EXHAUSTED if
  // the user has too many streams. Must outlive the feed.
  void Open(const std::string& authorization, std::function<void()> wake,
            absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<gateway::UpdateFeed>>)> reply);

 private:
  class Feed;

  void Watch();
  // The number of the last change of a record, and the number of changes of sessions and users.
  std::pair<int64_t, int64_t> ReadState();

  const Parts parts_;
  live::Topic<int> changed_;  // the key is always 0
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;  // last: uses the members above
};

}  // namespace det::app

#endif  // MASTER_APP_UPDATE_STREAMS_H_
