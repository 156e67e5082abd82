// What a task that is not a trial runs, and what it needs: the result of translating a request
// (master/parse/command.h). Immutable.
//
// PURE.
#ifndef MASTER_CORE_MODEL_TASK_DEFINITION_H_
#define MASTER_CORE_MODEL_TASK_DEFINITION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/task_config.h"
#include "master/core/model/value.h"

namespace det::model {

struct TaskDefinition {
  std::string description;  // the name that users see
  // `slots_per_trial` is the number of its slots.
  ResourcesConfig resources;
  PerSlotType<std::vector<std::string>> variables;  // "NAME=value"; the last of a name applies
  std::vector<ProxyPortConfig> proxy_ports;         // of the user's program
  // The program, the variables and the files of its kind. Files are below the run directory and may
  // contain secrets: the key of a shell.
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> files;
  std::string context_hash;  // empty: no context directory
  bool preemptible = false;
  // The time that it has to exit after a preemption.
  int64_t preemption_timeout_seconds = 0;
  std::optional<absl::Duration> idle_timeout;
  // The service that resolute-runner starts, if its kind has one.
  enum class Service { kNone, kHttp, kTcp } service = Service::kNone;
  Value config = Value::Object{};   // the effective configuration, without secrets
  Value details = Value::Object{};  // of its kind: keys of a shell, experiments of a TensorBoard
  friend bool operator==(const TaskDefinition&, const TaskDefinition&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_TASK_DEFINITION_H_
