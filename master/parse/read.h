// From a tree in the table's form to a configuration, and all that is wrong with it.
// Called by parse.cc and by the reader of the master's own configuration, on any thread.
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

// What is wrong with a configuration, and where.
struct Problem {
  std::string where;
  std::string path;
  std::string text;
  // A field that is required is not there: another layer may still bring it.
  bool missing = false;
  friend bool operator==(const Problem&, const Problem&) = default;
};

// Reads the whole tree by a table. Fields that are missing keep what `config`, which is of the
// table's type, holds.
void ReadFields(const FieldTable& table, const ConfigNode& root, void* config,
                std::vector<Problem>& problems);

// Puts a node into the place of its field. nullptr if it is what the field expects, otherwise the
// part of it that is not (fill.cc).
const ConfigNode* Fill(const Field& field, const ConfigNode& node, const FieldTarget& target);

// Reads the hyperparameters, whose map stands at `path` (hparams.cc).
void ReadSearchSpace(const ConfigNode& node, const std::string& path, SearchSpace& space,
                     std::vector<Problem>& problems);

// Reads {min, max}, which stands at `path` (slots.cc).
void ReadElasticSlots(const ConfigNode& node, const std::string& path, ResourcesConfig& resources,
                      std::vector<Problem>& problems);

// Seconds of "90m", "1d 12h", "1.5h"; units d, h, m, s, each once, the larger first. A number alone
// counts seconds.
std::optional<double> ParseDuration(std::string_view text);

// A condition as it was written.
struct WrittenCondition {
  std::string owner;  // path of the hyperparameter, from the root of the space
  Condition condition;
  std::string where;
  std::string path;  // of the condition, for messages
};
// Reads the `when` of a hyperparameter (conditions.cc).
void ReadConditions(const ConfigNode& when, const std::string& path,
                    std::vector<WrittenCondition>& conditions, std::vector<Problem>& problems);
// What they look at is there, can have these values, and does not depend on them.
void CheckConditions(const SearchSpace& space, const std::vector<WrittenCondition>& conditions,
                     std::vector<Problem>& problems);

// What the table cannot say: rules between fields (rules.cc). Settles what follows from them.
void CheckRules(const ConfigNode& root, ExperimentConfig& config, std::vector<Problem>& problems);

// The part of them that is about `checkpoint_storage`, which stands in the master's file too.
void CheckStorage(const ConfigNode& root, CheckpointStorageConfig& storage,
                  std::vector<Problem>& problems);

// What this cluster does not act on: said as a warning where leaving it out does no harm, as a
// problem where something would silently be lost (honour.cc).
void CheckHonoured(const ConfigNode& root, const ExperimentConfig& config,
                   std::vector<Problem>& problems, std::vector<Problem>& warnings);

// The one of them that is the name but for this many edits, or a quarter of its letters; empty if
// none is (suggest.cc).
std::string Nearest(std::string_view name, const std::vector<std::string>& known, size_t edits);
// "did you mean x?" for a name much like one of them, or that stands elsewhere in the table;
// otherwise the list.
std::string Suggest(const FieldTable& table, std::string_view name,
                    const std::vector<std::string>& known);

}  // namespace det::model

#endif  // MASTER_PARSE_READ_H_
