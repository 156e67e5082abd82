// Decides who may use a service of a task.
//
// Called on the pool; blocks on the store. Thread-safe.
#ifndef MASTER_PROXY_ACCESS_H_
#define MASTER_PROXY_ACCESS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "master/auth/authenticator.h"
#include "master/gateway/proxied_service.h"
#include "master/proxy/services.h"
#include "master/store/interfaces/store.h"

namespace det::proxy {

using gateway::ServiceCredentials;

class Access {
 public:
  // All must outlive it.
  Access(store::Store* store, auth::Authenticator* authenticator, const base::Clock* clock)
      : store_(*store), authenticator_(*authenticator), clock_(*clock) {}

  // UNAUTHENTICATED without valid credentials; PERMISSION_DENIED for a wrong access token or a
  // cross-site request; NOT_FOUND if the caller may not see the task.
  absl::Status Authorize(const Service& service, const ServiceCredentials& credentials);

 private:
  struct CachedWorkspaces {
    std::vector<int32_t> workspaces;
    absl::Time until;
  };

  absl::Status AuthorizeUser(const Service& service, const std::string& authorization);
  absl::Status AuthorizeCookie(const Service& service, const ServiceCredentials& credentials);
  bool MayView(const Service& service, const auth::Principal& user);
  // Whether the user may view the artifacts of all experiments that the TensorBoard shows.
  bool MayViewSources(const Service& service, const auth::Principal& user);
  // Returns the workspaces of these experiments. Cached, since a TensorBoard gets many requests.
  absl::StatusOr<std::vector<int32_t>> FindWorkspaces(const Service& service);

  store::Store& store_;
  auth::Authenticator& authenticator_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::map<model::TaskId, CachedWorkspaces> workspaces_;
};

}  // namespace det::proxy

#endif  // MASTER_PROXY_ACCESS_H_
