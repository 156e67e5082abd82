// `task_container_defaults`: defaults of the master's configuration for every experiment of the
// cluster or of one pool. A layer below the user's configuration (parse.h), with its own keys.
// Called by the reader of the master's configuration, before anything starts.
#ifndef MASTER_PARSE_TASK_DEFAULTS_H_
#define MASTER_PARSE_TASK_DEFAULTS_H_

#include <string>
#include <vector>

#include "master/core/model/value.h"
#include "master/parse/config_node.h"
#include "master/parse/read.h"

namespace det::model {

// Converts the node to a layer of an experiment's configuration; null if it sets nothing. `path` is
// the path of the node, for messages. `warnings` are about keys that this cluster ignores.
Value ReadTaskDefaults(const ConfigNode& node, const std::string& path,
                       std::vector<Problem>& problems, std::vector<Problem>& warnings);

// Returns the keys of the node that have an effect, as they are written, for administrators.
Value SelectTaskDefaults(const ConfigNode& node);

// Returns the keys as a table for the documentation.
std::string TaskDefaultsTable();

}  // namespace det::model

#endif  // MASTER_PARSE_TASK_DEFAULTS_H_
