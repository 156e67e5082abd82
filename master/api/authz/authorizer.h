// Whether a call may be made: who is asking, what the table of auth/permissions.h asks for, in
// which workspace lies what the request names, and whether the caller asks too often.
//
// Asked by call.h and open_stream.h for every call, on the edge's pool: it may block.
#ifndef MASTER_API_AUTHZ_AUTHORIZER_H_
#define MASTER_API_AUTHZ_AUTHORIZER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "master/api/authz/workspace_resolver.h"
#include "master/auth/authenticator.h"
#include "master/auth/call_limits.h"
#include "master/auth/permissions.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace det::api {

// The payload of a RESOURCE_EXHAUSTED status, and the key of the trailing metadata, that says after
// how many seconds to come back.
inline constexpr char kRetryAfter[] = "retry-after";

// The values of the field at `path` ("experiment.id", "updates.job_id") as text, of a list all;
// without those that are not set.
std::vector<std::string> ValuesAt(const google::protobuf::Message& request, std::string_view path);

class Admission {
 public:
  // All must outlive it.
  Admission(auth::Authenticator* authenticator, Whereabouts* whereabouts, const base::Clock* clock,
            auth::LimitOptions limits)
      : authenticator_(*authenticator),
        whereabouts_(*whereabouts),
        clock_(*clock),
        limits_(limits) {}

  // UNAUTHENTICATED, PERMISSION_DENIED, NOT_FOUND (also of what may not be seen), or
  // RESOURCE_EXHAUSTED with kRetryAfter. `authorization`: the header, empty without one.
  absl::StatusOr<auth::Principal> Admit(std::string_view method, std::string_view authorization,
                                        const google::protobuf::Message& request);

  // By the header alone, of a call that is asked for again with its request if it passes; one that
  // does not counts against its token's rate here.
  absl::StatusOr<auth::Principal> AdmitHead(std::string_view method,
                                            std::string_view authorization);

  // The part of it that is about what the request names; of users, and of tasks where they may.
  absl::Status JudgeNamed(std::string_view method, const auth::Principal& principal,
                          const google::protobuf::Message& request);

  // A stream's place among its user's: held until the last copy is gone. Null for those who are not
  // limited.
  absl::StatusOr<std::shared_ptr<void>> TakeStream(const auth::Principal& principal);

  // Whether the user may do what asks for `role` where the thing lies; the table's own question,
  // for what no field names.
  absl::Status Judge(std::string_view method, const auth::Principal& principal, model::Role role,
                     auth::Where where, const std::string& id);

 private:
  struct Known {
    int32_t workspace = 0;
    absl::Time until;
  };
  // RESOURCE_EXHAUSTED when its token asks too often.
  absl::Status Count(const auth::Principal& caller);
  absl::StatusOr<int32_t> WorkspaceOf(auth::Where where, const std::string& id);
  // Of a task: its own trial and experiment, and the checkpoints of its workspace.
  absl::Status JudgeTask(const auth::Principal& task, auth::Where where, const std::string& id);

  auth::Authenticator& authenticator_;
  Whereabouts& whereabouts_;
  const base::Clock& clock_;
  auth::CallLimits limits_;
  std::mutex mutex_;
  std::map<std::pair<auth::Where, std::string>, Known> known_;
};

}  // namespace det::api

#endif  // MASTER_API_AUTHZ_AUTHORIZER_H_
