// What one client of /stream gets: the records that it subscribed to and may see, and their
// changes.
//
// Compares what the client has with what the store has now, so that a client gets the newest state
// however slowly it reads, and changes of permissions are changes like any other. Called by
// app/update_streams.cc on the pool, one call at a time; blocks.
#ifndef MASTER_API_UPDATES_UPDATE_FOLLOWER_H_
#define MASTER_API_UPDATES_UPDATE_FOLLOWER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/api/updates/update_protocol.h"
#include "master/store/interfaces/streamed_records.h"

namespace det::api {

class UpdateFollower {
 public:
  // The workspaces whose records the client may see; nullopt: all.
  using Workspaces = std::optional<std::vector<int32_t>>;
  struct Visible {
    Workspaces projects;
    Workspaces models;  // with their versions
    friend bool operator==(const Visible&, const Visible&) = default;
  };

  // `records` must outlive it.
  explicit UpdateFollower(store::StreamedRecords* records) : records_(*records) {}

  // Starts over with the subscriptions in a client's message. INVALID_ARGUMENT if it is invalid.
  absl::Status Subscribe(std::string_view message);

  // Returns the next messages for the client, at most some hundred; none if nothing has changed.
  absl::StatusOr<std::vector<std::string>> Next(const Visible& visible);

 private:
  struct Subscription {
    store::StreamedQuery query;
    KnownRecords known;
  };
  // Something to send: a message, or the records with these ids.
  struct Pending {
    std::string message;
    store::StreamedKind kind = store::StreamedKind::kProject;
    std::vector<int32_t> ids = {};
    bool in_sync = false;
  };

  // Adds what has changed to `pending_`.
  absl::Status FindChanges(const Visible& visible, bool in_sync);
  absl::StatusOr<std::vector<std::string>> Read(const Pending& pending, const Visible& visible);

  store::StreamedRecords& records_;
  std::vector<Subscription> subscriptions_;
  std::optional<std::string> starting_;  // the sync id of a request that was not answered yet
  std::deque<Pending> pending_;
  // The state of the last comparison.
  int64_t last_change_ = 0;
  Visible visible_;
};

}  // namespace det::api

#endif  // MASTER_API_UPDATES_UPDATE_FOLLOWER_H_
