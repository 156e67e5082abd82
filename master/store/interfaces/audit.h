// Who changed what: plain records that are added and read, never changed. Reached by
// Store::audit(). Holds no secrets: of a request only what its method's rule names.
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
  int64_t id = 0;  // given by the store, rising
  absl::Time at;
  std::optional<model::UserId> user;  // without: an agent, a task, or nobody
  std::string caller;                 // the user's name then, "agent", or the allocation
  int32_t access_token = 0;           // by which of the user's; 0: a login
  std::string peer;                   // the address; empty where it is not known
  std::string method;                 // "det.api.v1.UserService.PostUser"
  std::string target;                 // what was named and made: "project 3, made experiment 7"
  std::string request_id;
  std::string code;  // "OK", or why not
  friend bool operator==(const AuditRecord&, const AuditRecord&) = default;
};

// All that is set must hold.
struct AuditQuery {
  std::optional<model::UserId> user;
  std::string method;               // a beginning of it
  std::optional<absl::Time> since;  // at or after
  std::optional<absl::Time> until;  // before
  int64_t before_id = 0;            // what is older than this record; 0: from the newest on
  int limit = 100;                  // at most; 0: all
  int offset = 0;                   // so many of the newest are left out
};

class Audit {
 public:
  virtual ~Audit() = default;

  // All or none, in their order.
  virtual absl::Status AddAudit(const std::vector<AuditRecord>& records) = 0;
  // Newest first.
  virtual absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) = 0;
  // How many there are without `limit` and `offset`.
  virtual absl::StatusOr<int> CountAudit(const AuditQuery& query) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_AUDIT_H_
