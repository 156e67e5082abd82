// Opens services of tasks for the gateway: finds the service, authorizes the caller, and connects.
//
// Called on any thread; replies on any thread.
#ifndef MASTER_PROXY_TASK_PROXY_H_
#define MASTER_PROXY_TASK_PROXY_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "master/engine/engine.h"
#include "master/gateway/proxied_service.h"
#include "master/proxy/access.h"
#include "master/proxy/activity.h"
#include "master/proxy/services.h"
#include "master/proxy/task_dialer.h"
#include "master/proxy/terminals.h"

namespace det::proxy {

using gateway::OpenedService;

class TaskProxy {
 public:
  // The limits of one task.
  static constexpr int kMaxConnections = 256;
  static constexpr int kMaxTerminals = 8;

  struct Parts {
    engine::Engine* engine;
    store::Store* store;
    auth::Authenticator* authenticator;
    base::ThreadPool* pool;
    TaskDialer* dialer;
    Activity* activity;
    const base::Clock* clock;
  };
  // All parts must outlive it, and the replies.
  explicit TaskProxy(const Parts& parts)
      : parts_(parts), access_(parts.store, parts.authenticator, parts.clock) {}

  using Reply = absl::AnyInvocable<void(absl::StatusOr<OpenedService>)>;
  // The status is that of Access::Authorize, or NOT_FOUND if there is no such service,
  // FAILED_PRECONDITION if its task has ended, UNAVAILABLE if it is not ready, and
  // RESOURCE_EXHAUSTED if the task has too many connections.
  void Open(const std::string& service, ServiceCredentials credentials, Reply reply);

 private:
  absl::StatusOr<OpenedService> OpenFound(std::optional<absl::StatusOr<Service>> found,
                                          const std::string& id,
                                          const ServiceCredentials& credentials);
  // Returns a function that opens a terminal over a connection to the shell's sshd.
  OpenedService::Dial MakeTerminalDial(const Service& service, OpenedService::Dial dial);
  absl::StatusOr<std::shared_ptr<void>> CountUse(const Service& service);

  const Parts parts_;
  Access access_;
  Terminals terminals_;
  // Shared with the uses.
  struct Counts {
    std::mutex mutex;
    std::map<std::string, int> open;  // by task, and by terminal
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace det::proxy

#endif  // MASTER_PROXY_TASK_PROXY_H_
