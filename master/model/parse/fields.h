// Every field of the experiment configuration in one table: what may stand there, what it defaults
// to, what it is for. Reading, validation, refusal of unknown keys and documentation come from it.
// Called by parse.cc and by generators of documentation, on any thread.
#ifndef MASTER_MODEL_PARSE_FIELDS_H_
#define MASTER_MODEL_PARSE_FIELDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "master/model/experiment_config.h"
#include "master/model/parse/config_node.h"

namespace det::model {

// "NAME=value", or "NAME" for an empty one.
struct EnvironmentTarget {
  std::vector<std::string>* variables;
};

// The place in an ExperimentConfig that a field fills; its type is the field's type.
using FieldTarget =
    std::variant<std::monostate, bool*, int*, int64_t*, uint32_t*, double*, std::string*,
                 std::optional<int>*, std::vector<std::string>*, Length*, std::optional<Length>*,
                 CheckpointPolicy*, Value*, Entrypoint*, SearchSpace*, EnvironmentTarget>;

struct Field {
  enum class Role {
    kValue,
    kSection,      // a map of further fields
    kIgnored,      // older configurations have it; without effect
    kUnsupported,  // known to older configurations, refused with these words
  };
  const char* path;
  const char* description;
  Role role = Role::kValue;
  FieldTarget (*target)(ExperimentConfig&) = nullptr;
  // As JSON; nullptr: none.
  const char* default_json = nullptr;
  bool required = false;
  std::optional<int64_t> min;
  std::optional<int64_t> max;
  const char* choices = nullptr;   // "best|all|none"
  const char* later = nullptr;     // choices of older configurations that are not supported yet
  const char* searcher = nullptr;  // means something to this searcher alone
};

std::span<const Field> Fields();
const Field* FindField(std::string_view path);

// "an integer >= 0", "true or false", "one of best, all, none".
std::string Expected(const Field& field);

// What is wrong with a configuration, and where.
struct Problem {
  std::string where;
  std::string path;
  std::string text;
};

// Reads the whole tree by the table. Fields that are missing keep what `config` holds.
void ReadFields(const ConfigNode& root, ExperimentConfig& config, std::vector<Problem>& problems);

// Reads one hyperparameter space (hparams.cc).
void ReadSearchSpace(const ConfigNode& node, const std::string& path, SearchSpace& space,
                     std::vector<Problem>& problems);

// "did you mean x?" for a name much like one of them, otherwise the list (suggest.cc).
std::string Suggest(std::string_view name, const std::vector<std::string>& known);

}  // namespace det::model

#endif  // MASTER_MODEL_PARSE_FIELDS_H_
