// Decides whether a call is allowed: who the caller is, whether the caller's rate limit is
// exceeded, whether the caller has the permission that the method requires (auth/permissions.h),
// and whether the caller has it in the workspace of each resource that the request names.
//
// Each call is decided once. The gateway asks AuthorizeHeader before it reads a body, and passes
// the ticket that it gets to the call in process; the pipeline (rpc/call.h) asks Authorize, which
// decides what the ticket leaves open. Called on the pool; all methods may block.
#ifndef MASTER_API_AUTHZ_AUTHORIZER_H_
#define MASTER_API_AUTHZ_AUTHORIZER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
#include "master/auth/permissions.h"
#include "master/auth/rate_limiter.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace det::api {

// The payload of a RESOURCE_EXHAUSTED status, and the key of the trailing metadata: the number of
// seconds after which to retry.
inline constexpr char kRetryAfter[] = "retry-after";

// Returns the values of the field at `path` ("experiment.id", "updates.job_id") as text, of each
// element if it is repeated; without those that are not set.
std::vector<std::string> GetFieldValues(const google::protobuf::Message& request,
                                        std::string_view path);

// The decision about a call.
struct Authorization {
  absl::Status status;  // OK if the call is allowed
  // Nobody for a public method. Also set for a refused call if its token identifies the caller.
  auth::Principal caller;
};

// What a caller presents.
struct Credentials {
  std::string authorization;  // the header, empty without one
  std::string ticket;         // of AuthorizeHeader; empty or invalid: the header decides
};

class Authorizer {
 public:
  // A ticket is valid for one call and for this time, which is not longer than the authenticator
  // caches a token. It is invalid as soon as a session is ended or a user is invalidated.
  static constexpr absl::Duration kTicketLifetime = absl::Seconds(30);

  // All must outlive it.
  Authorizer(auth::Authenticator* authenticator, WorkspaceResolver* workspace_resolver,
             const base::Clock* clock, auth::RateLimits limits)
      : authenticator_(*authenticator),
        workspace_resolver_(*workspace_resolver),
        clock_(*clock),
        limits_(limits) {}

  // Decides about a call. The status is UNAUTHENTICATED, PERMISSION_DENIED, NOT_FOUND (also for
  // resources that the caller may not see), or RESOURCE_EXHAUSTED with kRetryAfter.
  Authorization Authorize(const auth::Requirement& method, const Credentials& credentials,
                          const google::protobuf::Message& request);

  // Decides what the header alone decides: all but the resources that the request names. If the
  // status is OK, `ticket` is a secret that tells Authorize this decision, so that the call is not
  // authenticated and counted twice. The ticket must not leave the process.
  struct HeaderAuthorization : Authorization {
    std::string ticket;
  };
  HeaderAuthorization AuthorizeHeader(const auth::Requirement& method,
                                      const std::string& authorization);

  // Checks the resources that the request names in the fields of its declaration, for users and for
  // tasks.
  absl::Status AuthorizeResources(const auth::Requirement& method, const auth::Principal& principal,
                                  const google::protobuf::Message& request);

  // Checks one resource: the caller must hold what is needed in its workspace, or own the resource
  // where that suffices. Services call it for resources that the request names indirectly, such as
  // all runs that match a filter.
  absl::Status AuthorizeResource(std::string_view method, const auth::Principal& principal,
                                 const auth::Need& need, auth::Scope scope, const std::string& id);

  // Counts a stream of the caller until the last copy of the result is released.
  // RESOURCE_EXHAUSTED if the user has too many. Null if the caller has no limit.
  absl::StatusOr<std::shared_ptr<void>> OpenStream(const auth::Principal& principal);

 private:
  struct CachedWorkspace {
    int32_t workspace = 0;
    absl::Time until;
  };
  struct Ticket {
    std::string method;
    auth::Principal caller;
    int64_t invalidations = 0;  // of the authenticator, before it authenticated the caller
    absl::Time until;
  };

  // Authenticates the caller, and checks the caller's rate and role.
  Authorization AuthorizeCaller(const auth::Requirement& method, std::string_view authorization);
  // Counts the call. RESOURCE_EXHAUSTED if the rate limit of the caller's token is exceeded.
  absl::Status CheckRate(const auth::Principal& caller);
  std::string IssueTicket(const auth::Requirement& method, const auth::Principal& caller,
                          int64_t invalidations);
  // Returns the caller of a valid ticket for this method. A ticket can be redeemed once.
  std::optional<auth::Principal> RedeemTicket(const auth::Requirement& method,
                                              const std::string& ticket);
  absl::StatusOr<int32_t> FindWorkspace(auth::Scope scope, const std::string& id);
  // A task may use its own trial and experiment, and the checkpoints of its workspace.
  absl::Status AuthorizeTask(const auth::Principal& task, auth::Scope scope, const std::string& id);

  auth::Authenticator& authenticator_;
  WorkspaceResolver& workspace_resolver_;
  const base::Clock& clock_;
  auth::RateLimiter limits_;
  std::mutex mutex_;
  std::map<std::pair<auth::Scope, std::string>, CachedWorkspace> workspaces_;
  std::map<std::string, Ticket> tickets_;
};

}  // namespace det::api

#endif  // MASTER_API_AUTHZ_AUTHORIZER_H_
