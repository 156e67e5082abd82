// The services of tasks: the ports that the master proxies, and where they are.
//
// A service is named "<task ID>" or "<task ID>:<port>" (docs/tasks.md). Reads the cluster, so the
// functions belong into engine::Engine::Query. Does no I/O, except FindEndedService.
#ifndef MASTER_PROXY_SERVICES_H_
#define MASTER_PROXY_SERVICES_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/cluster/cluster.h"
#include "master/core/experiment/allocation.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"
#include "master/core/model/task_definition.h"
#include "master/store/interfaces/store.h"

namespace det::proxy {

struct Service {
  std::string id;
  model::TaskId task;
  model::TaskKind kind = model::TaskKind::kTrial;
  int32_t workspace = 0;  // of the task, or of the trial's experiment
  model::UserId owner;    // only of tasks that are not trials
  std::shared_ptr<const model::TaskDefinition> definition;  // null for trials
  std::optional<int> port;       // on the loopback interface; absent: not known yet
  bool is_of_kind = false;       // that of the task's kind, not a port of the user's program
  bool is_tcp = false;           // other than HTTP
  bool is_terminal = false;      // of a shell: `port` is that of its sshd
  bool unauthenticated = false;  // everybody may use it
  // The agent of the allocation's first local task; absent: it waits for slots, or has ended.
  model::AllocationId allocation;
  std::optional<model::AgentId> agent;
  std::string agent_user;  // of the agent's machine, runs its tasks; empty: unknown
  bool has_ended = false;  // the task has ended
};

// The member of TaskDefinition::details; empty if there is none.
std::string GetDetail(const Service& service, std::string_view member);

// Returns the services of the allocation's task.
std::vector<Service> ListServices(const cluster::Cluster& cluster,
                                  const experiment::Allocation& allocation);

// Returns the service of a task that has not ended, whether or not it is running. Nullopt if there
// is no such task. NOT_FOUND if the task has no such service.
std::optional<absl::StatusOr<Service>> FindService(const cluster::Cluster& cluster,
                                                   std::string_view id);

// Returns the service of a task that has ended, without its port. NOT_FOUND if there is no such
// task. Blocks.
absl::StatusOr<Service> FindEndedService(store::Store& store, std::string_view id);

absl::Status ServiceNotFound(std::string_view id);

}  // namespace det::proxy

#endif  // MASTER_PROXY_SERVICES_H_
