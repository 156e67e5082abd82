// Merging of the layers of a configuration, by the rules of the table of fields (fields.h): maps
// member by member, lists according to their row, everything else replaced. Each node keeps its
// position. Called by parse.cc, on any thread.
#ifndef MASTER_PARSE_MERGE_H_
#define MASTER_PARSE_MERGE_H_

#include <string>

#include "absl/status/status.h"
#include "master/parse/config_node.h"

namespace det::model {

// Merges `high` over `low`, both in the table's form (shape.h). If `high` chooses another kind of
// searcher or storage, the fields of `low` that do not apply to it are dropped.
ConfigNode MergeConfig(ConfigNode low, const ConfigNode& high);

// Applies "a.b.c=<yaml>" to the tree: the value replaces that of the tree, also if both are lists
// or maps, as existing clients expect; null removes the value, except that of a hyperparameter.
// "a.b.c+=<yaml>" appends to a list by the rule of its row, and adds to a map. INVALID_ARGUMENT
// names the override.
absl::Status ApplyOverride(const std::string& override_text, ConfigNode& root);

}  // namespace det::model

#endif  // MASTER_PARSE_MERGE_H_
