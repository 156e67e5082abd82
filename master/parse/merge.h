// Layers of a configuration put over each other, by the rules of the table of fields (fields.h):
// maps member by member, lists as their row says, everything else replaced. Each node keeps where
// it came from. Called by parse.cc, on any thread.
#ifndef MASTER_PARSE_MERGE_H_
#define MASTER_PARSE_MERGE_H_

#include <string>

#include "absl/status/status.h"
#include "master/parse/config_node.h"

namespace det::model {

// `high` over `low`, both in the table's form (shape.h). A searcher or storage of another kind than
// the lower layer's takes over only what means something to it.
ConfigNode MergeConfig(ConfigNode low, const ConfigNode& high);

// Puts "a.b.c=<yaml>" over the tree by the same rules; null takes away what is there.
// INVALID_ARGUMENT names the override.
absl::Status ApplyOverride(const std::string& override_text, ConfigNode& root);

}  // namespace det::model

#endif  // MASTER_PARSE_MERGE_H_
