// The defaults of the master's configuration for every experiment of the cluster or of one pool:
// `task_container_defaults` (parse/task_defaults.h). PURE.
#ifndef MASTER_CORE_MODEL_TASK_DEFAULTS_H_
#define MASTER_CORE_MODEL_TASK_DEFAULTS_H_

#include <map>
#include <string>

namespace det::model {

// Layers of an experiment's configuration, as JSON.
struct TaskDefaults {
  std::string cluster;                       // empty: none
  std::map<std::string, std::string> pools;  // by name; over the cluster's
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_TASK_DEFAULTS_H_
