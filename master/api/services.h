// Creates the gRPC services of the API and of running trials. Each service states its dependencies
// in its constructor; only this file knows all of them.
//
// Called by app/master.cc, which registers them with the server.
#ifndef MASTER_API_SERVICES_H_
#define MASTER_API_SERVICES_H_

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/api/authz/authorizer.h"
#include "master/api/common/master_info.h"
#include "master/api/experiments/experiment_config.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/runtime/all_gather.h"
#include "master/api/tasks/launch_settings.h"
#include "master/auth/authenticator.h"
#include "master/auth/password_queue.h"
#include "master/engine/engine.h"
#include "master/live/allocation_watch.h"
#include "master/live/experiment_watch.h"
#include "master/live/life_signs.h"
#include "master/proxy/activity.h"
#include "master/store/interfaces/store.h"

namespace det::webhooks {
class Deliverer;
class TriggerWatch;
}  // namespace det::webhooks

namespace det::api {

// Dependencies of the services. The struct and everything that it points to must outlive them.
struct ServiceParts {
  CallPipeline* calls = nullptr;
  engine::Engine* engine = nullptr;
  store::Store* store = nullptr;
  auth::Authenticator* authenticator = nullptr;
  Authorizer* authorizer = nullptr;
  auth::PasswordQueue* passwords = nullptr;
  base::ThreadPool* pool = nullptr;  // for work that blocks
  base::EventLoop* loop = nullptr;   // for timers
  const base::Clock* clock = nullptr;
  live::ExperimentWatch* watch = nullptr;
  live::AllocationWatch* allocations = nullptr;
  live::LifeSigns* life_signs = nullptr;
  proxy::Activity* task_activity = nullptr;
  AllGather* all_gather = nullptr;
  webhooks::TriggerWatch* triggers = nullptr;  // may be null
  webhooks::Deliverer* deliverer = nullptr;
  MasterInfo info;
  ExperimentDefaults defaults;
  LaunchSettings launch;
  bool allow_blank_passwords = false;
  // The role that the user who creates a workspace gets in it.
  std::optional<model::RoleId> workspace_creator_role = model::Role::kWorkspaceAdmin;
};

// Creates all services that gRPC and HTTP serve.
std::vector<std::unique_ptr<Service>> MakeServices(const ServiceParts& from);

// The unary methods that wait for an event.
inline constexpr std::array kLongPolls = {
    "det.api.v1.TaskRuntimeService.AllocationRendezvousInfo",
    "det.api.v1.TaskRuntimeService.AllocationPreemptionSignal",
    "det.api.v1.TaskRuntimeService.AllocationAllGather",
    "det.api.v1.TaskRuntimeService.NotifyContainerRunning",
};

}  // namespace det::api

#endif  // MASTER_API_SERVICES_H_
