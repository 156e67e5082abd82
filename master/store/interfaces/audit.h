// Audit records: who changed what and when. They are added and read, never changed. Reached through
// Store::audit(). They hold no secrets: of a request only the field that the method's rule names.
// Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_AUDIT_H_
#define MASTER_STORE_INTERFACES_AUDIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"

namespace det::store {

struct AuditRecord {
  int64_t id = 0;  // assigned by the store, increasing
  absl::Time at;
  std::optional<model::UserId> user;  // unset: an agent, a task, or an unauthenticated caller
  std::string caller;                 // the user's name at that time, "agent", or the allocation
  int32_t access_token = 0;           // the id of the access token; 0: a login
  std::string peer;                   // the client's address; empty if unknown
  std::string method;                 // "det.api.v1.UserService.PostUser"
  std::string target;                 // resources named or created: "project 3, made experiment 7"
  std::string request_id;
  std::string code;  // the status code: "OK", "PERMISSION_DENIED", ...
  friend bool operator==(const AuditRecord&, const AuditRecord&) = default;
};

// A record matches if it satisfies all conditions that are set.
struct AuditQuery {
  std::optional<model::UserId> user;
  std::string method;               // a prefix of the method
  std::optional<absl::Time> since;  // at or after
  std::optional<absl::Time> until;  // before
  int64_t before_id = 0;            // only records older than this one; 0: no bound
  int limit = 100;                  // maximum number of records; 0: all
  int offset = 0;                   // number of the newest records to skip
};

class Audit {
 public:
  virtual ~Audit() = default;

  // Adds all records in order, or none.
  virtual absl::Status AddAudit(const std::vector<AuditRecord>& records) = 0;
  // Newest first.
  virtual absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) = 0;
  // Returns the number of matching records, ignoring `limit` and `offset`.
  virtual absl::StatusOr<int> CountAudit(const AuditQuery& query) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_AUDIT_H_
