// Reading of a tree in the table's form into a configuration; collects all problems.
// Called by parse.cc and by the reader of the master's configuration, on any thread.
#ifndef MASTER_PARSE_READ_H_
#define MASTER_PARSE_READ_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "master/core/model/experiment_config.h"
#include "master/core/model/fields.h"
#include "master/parse/config_node.h"

namespace det::model {

// A problem of a configuration and its position.
struct Problem {
  std::string where;
  std::string path;
  std::string text;
  // A required field is missing; another layer may provide it.
  bool missing = false;
  friend bool operator==(const Problem&, const Problem&) = default;
};

// Reads the whole tree by a table into `config`, which has the table's type. Missing fields keep
// their values.
void ReadFields(const FieldTable& table, const ConfigNode& root, void* config,
                std::vector<Problem>& problems);

// Stores a node in the member of its field. Returns nullptr if the node is valid, otherwise the
// invalid part of it (fill.cc).
const ConfigNode* Fill(const Field& field, const ConfigNode& node, const FieldTarget& target);

// Reads the map of hyperparameters at `path` (hparams.cc).
void ReadSearchSpace(const ConfigNode& node, const std::string& path, SearchSpace& space,
                     std::vector<Problem>& problems);

// Reads {min, max} at `path` (slots.cc).
void ReadElasticSlots(const ConfigNode& node, const std::string& path, ResourcesConfig& resources,
                      std::vector<Problem>& problems);

// Returns the seconds of "90m", "1d 12h", "1.5h": units d, h, m, s, each at most once, larger ones
// first. A number without a unit is seconds.
std::optional<double> ParseDuration(std::string_view text);

// A condition with its position in the text.
struct WrittenCondition {
  std::string owner;  // path of the hyperparameter, from the root of the space
  Condition condition;
  std::string where;
  std::string path;  // of the condition, for messages
};
// Reads the `when` of a hyperparameter (conditions.cc).
void ReadConditions(const ConfigNode& when, const std::string& path,
                    std::vector<WrittenCondition>& conditions, std::vector<Problem>& problems);
// Checks that the hyperparameters that conditions name exist, can have these values, and do not
// depend on the conditional ones.
void CheckConditions(const SearchSpace& space, const std::vector<WrittenCondition>& conditions,
                     std::vector<Problem>& problems);

// Checks rules between fields (rules.cc) and sets derived values.
void CheckRules(const ConfigNode& root, ExperimentConfig& config, std::vector<Problem>& problems);

// Checks the rules of `checkpoint_storage`, which the master's configuration has as well.
void CheckStorage(const ConfigNode& root, CheckpointStorageConfig& storage,
                  std::vector<Problem>& problems);

// Reports fields that this cluster does not support: as a warning if ignoring them is harmless,
// otherwise as a problem (unsupported_fields.cc).
void CheckUnsupportedFields(const ConfigNode& root, const ExperimentConfig& config,
                            std::vector<Problem>& problems, std::vector<Problem>& warnings);

// Returns what to write instead of a field of old configurations, as "was replaced: write x"; empty
// for other paths (old_fields.cc).
std::string DescribeOldField(std::string_view path);

// Returns the known name within `edits` edits, or a quarter of the letters, of `name`; empty if
// there is none (suggest.cc).
std::string Nearest(std::string_view name, const std::vector<std::string>& known, size_t edits);
// Returns "did you mean x?" for a name that is similar to a known one, or that exists elsewhere in
// the table; otherwise "expected one of ...".
std::string Suggest(const FieldTable& table, std::string_view name,
                    const std::vector<std::string>& known);

}  // namespace det::model

#endif  // MASTER_PARSE_READ_H_
