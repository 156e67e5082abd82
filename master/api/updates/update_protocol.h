// Messages of the websocket /stream, over which clients follow projects, models and model versions
// (README.md): the requests of clients, and the records and deletions that they get.
//
// PURE.
#ifndef MASTER_API_UPDATES_UPDATE_PROTOCOL_H_
#define MASTER_API_UPDATES_UPDATE_PROTOCOL_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "master/store/interfaces/streamed_records.h"

namespace det::api {

// A client that names more known records is refused.
inline constexpr int kMaxKnownRecords = 1'000'000;

// A set of IDs as text: "1-3,7".
std::string FormatIds(const std::set<int32_t>& ids);
// INVALID_ARGUMENT if the text is not an ascending list of numbers and ranges.
absl::StatusOr<std::set<int32_t>> ParseIds(std::string_view text);

// What a client asks for: it replaces all that it asked for before.
struct UpdateRequest {
  struct Subscription {
    store::StreamedQuery query;  // without `visible`
    std::set<int32_t> known;     // records that the client has
    int64_t since = 0;           // the last change that the client has; 0: unknown
  };
  std::string sync_id;
  std::vector<Subscription> subscriptions;  // at most one of each kind, in the order of the kinds
};
// Ignores unknown members, which some clients send.
absl::StatusOr<UpdateRequest> ParseUpdateRequest(std::string_view text);

// The records of one subscription that the client has, with their last changes.
class KnownRecords {
 public:
  explicit KnownRecords(const UpdateRequest::Subscription& subscription);

  struct Changes {
    std::set<int32_t> gone;        // deleted, no longer matching, or no longer visible
    std::vector<int32_t> changed;  // new or changed, ascending
  };
  // Compares with the records that match now, and assumes that the client gets the changes.
  Changes Update(const std::map<int32_t, int64_t>& matching);

 private:
  std::map<int32_t, int64_t> seqs_;
};

std::string MakeSyncMessage(const std::string& sync_id, bool complete);
std::string MakeDeletedMessage(store::StreamedKind kind, const std::set<int32_t>& ids);
std::string MakeRecordMessage(const store::StreamedProject& record);
std::string MakeRecordMessage(const store::StreamedModel& record);
// Clients expect the workspace of a version as text, which is empty until the sync is complete.
std::string MakeRecordMessage(const store::StreamedVersion& record, bool in_sync);

}  // namespace det::api

#endif  // MASTER_API_UPDATES_UPDATE_PROTOCOL_H_
