// `task_container_defaults`: what the master's file gives every experiment of the cluster, or of
// one pool, that says nothing else. A layer below the user's configuration (parse.h), in keys of
// its own. Called by the reader of the master's configuration, before anything starts.
#ifndef MASTER_PARSE_TASK_DEFAULTS_H_
#define MASTER_PARSE_TASK_DEFAULTS_H_

#include <string>
#include <vector>

#include "master/core/model/value.h"
#include "master/parse/config_node.h"
#include "master/parse/read.h"

namespace det::model {

// The layer of an experiment's configuration that the node stands for; null where it says nothing.
// `path` is the node's own, for messages. `warnings`: keys that have no effect on this cluster.
Value ReadTaskDefaults(const ConfigNode& node, const std::string& path,
                       std::vector<Problem>& problems, std::vector<Problem>& warnings);

// The keys, as a table of the documentation.
std::string TaskDefaultsTable();

}  // namespace det::model

#endif  // MASTER_PARSE_TASK_DEFAULTS_H_
