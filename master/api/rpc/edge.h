// What every service needs, in one hand. Filled by master.cc before the first call; the services
// hold a pointer to it.
#ifndef MASTER_API_RPC_EDGE_H_
#define MASTER_API_RPC_EDGE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/auth/authenticator.h"
#include "master/auth/password_queue.h"
#include "master/checkpoint_storage/checkpoint_place.h"
#include "master/core/model/task_defaults.h"
#include "master/core/model/value.h"
#include "master/engine/engine.h"
#include "master/live/experiment_watch.h"
#include "master/store/interfaces/store.h"

namespace det::webhooks {
class Deliverer;
class TriggerWatch;
}  // namespace det::webhooks

namespace det::api {

class Admission;
class AuditTrail;
class FirstAnswers;

// Facts that the answers show.
struct MasterFacts {
  std::string version;
  std::string master_id;  // of this process
  std::string cluster_id;
  std::string cluster_name;
  std::string database;  // "embedded" or "external"
  absl::Time started_at;
  model::Value config;  // what it was started with; without secrets
  int log_days = -1;    // how long lines are kept of which nobody says anything; -1: for ever
};

struct Edge {
  engine::Engine* engine = nullptr;
  store::Store* store = nullptr;
  auth::Authenticator* authenticator = nullptr;
  Admission* admission = nullptr;
  AuditTrail* audit = nullptr;  // may be null
  FirstAnswers* answers = nullptr;
  auth::PasswordQueue* passwords = nullptr;
  bool allow_blank_passwords = false;
  base::ThreadPool* pool = nullptr;  // for whatever blocks
  base::EventLoop* loop = nullptr;   // for timers
  const base::Clock* clock = nullptr;
  live::ExperimentWatch* watch = nullptr;
  webhooks::TriggerWatch* webhooks = nullptr;
  webhooks::Deliverer* deliverer = nullptr;
  MasterFacts facts;
  std::string checkpoint_storage;  // the master's: the lowest layer, as JSON; empty: none
  model::TaskDefaults task_defaults;
  CheckpointPlaces checkpoint_places;  // `own` is the default of checkpoint_storage.host_path
  std::function<void(absl::StatusCode)> on_call;  // after each unary call; any thread; may be null
};

}  // namespace det::api

#endif  // MASTER_API_RPC_EDGE_H_
