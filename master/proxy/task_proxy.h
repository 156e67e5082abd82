// Opens services of tasks for the gateway: finds the service, authorizes the caller, and connects.
//
// Called on any thread; replies on any thread.
#ifndef MASTER_PROXY_TASK_PROXY_H_
#define MASTER_PROXY_TASK_PROXY_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "master/engine/engine.h"
#include "master/proxy/access.h"
#include "master/proxy/activity.h"
#include "master/proxy/services.h"
#include "master/proxy/task_dialer.h"

namespace det::proxy {

// A service that the caller may use.
struct OpenedService {
  bool is_tcp = false;
  // Connections with the same key lead to the same program.
  std::string connection_key;
  // Connects to the program. May be called several times.
  std::function<void(TaskDialer::Reply)> dial;
  // Headers for the program, such as JupyterLab's own token.
  std::vector<std::pair<std::string, std::string>> headers;
  // The token of the service's address; empty: it has none.
  std::string access_token;
  // Held while the request or the websocket lasts: limits the number of connections of a task.
  std::shared_ptr<void> use;
};

class TaskProxy {
 public:
  static constexpr int kMaxConnections = 256;  // of one task at a time

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
  void Open(const std::string& service, Credentials credentials, Reply reply);

 private:
  absl::StatusOr<OpenedService> OpenFound(std::optional<absl::StatusOr<Service>> found,
                                          const std::string& id, const Credentials& credentials);
  absl::StatusOr<std::shared_ptr<void>> CountUse(const model::TaskId& task);

  const Parts parts_;
  Access access_;
  // Shared with the uses.
  struct Counts {
    std::mutex mutex;
    std::map<model::TaskId, int> of_task;
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace det::proxy

#endif  // MASTER_PROXY_TASK_PROXY_H_
