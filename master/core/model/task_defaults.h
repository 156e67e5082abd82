// What the master's file gives every experiment of the cluster, or of one of its pools, that says
// nothing else: `task_container_defaults` (parse/task_defaults.h). PURE.
#ifndef MASTER_CORE_MODEL_TASK_DEFAULTS_H_
#define MASTER_CORE_MODEL_TASK_DEFAULTS_H_

#include <map>
#include <string>

namespace det::model {

// Each a layer of an experiment's configuration, as JSON.
struct TaskDefaults {
  std::string cluster;                       // empty: none
  std::map<std::string, std::string> pools;  // by name; over the cluster's
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_TASK_DEFAULTS_H_
