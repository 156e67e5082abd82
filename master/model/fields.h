// Every field of the experiment configuration in one table: what may stand there, what it defaults
// to, how layers merge, what it is for. Reading, validation, writing, merging, the documentation
// page and the JSON Schema come from it. On any thread. PURE.
//
// A field of the items of a list has a path like "bind_mounts[].host_path".
#ifndef MASTER_MODEL_FIELDS_H_
#define MASTER_MODEL_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/model/experiment_config.h"

namespace det::model {

// "NAME=value", or "NAME" for an empty one.
struct VariablesTarget {
  std::vector<std::string>* variables;
};
// Bytes, or text such as "4g".
struct SizeTarget {
  std::optional<int64_t>* bytes;
};
// A name, or a list of names and of {name, smaller_is_better}.
struct MetricTarget {
  SearcherConfig* searcher;
};
// An enumerator, as its place among the field's choices.
struct ChoiceTarget {
  void* at;
  int (*get)(const void* at);
  void (*set)(void* at, int index);
};
struct ListTarget {
  void* list;
  size_t (*size)(const void* list);
  void (*resize)(void* list, size_t size);
};

// The place in an ExperimentConfig that a field fills; its type is the field's type.
using FieldTarget =
    std::variant<std::monostate, bool*, int*, int64_t*, uint32_t*, double*, std::string*,
                 std::optional<int>*, std::optional<int64_t>*, std::vector<std::string>*,
                 std::vector<int64_t>*, std::map<std::string, int64_t>*, Length*,
                 std::optional<Length>*, Value*, Entrypoint*, SearchSpace*, VariablesTarget,
                 SizeTarget, MetricTarget, ChoiceTarget, ListTarget>;

struct Field {
  enum class Role {
    kValue,
    kSection,  // a map of further fields
    kList,     // a list of maps of further fields
    kIgnored,  // older configurations have it; without effect
    kGone,     // older configurations have it; refused with these words
  };
  // How a value of a higher layer meets one of a lower layer. Maps always merge member by member;
  // hyperparameters do so where both are nested.
  enum class Merge {
    kReplace,
    kAppend,  // the lower layer's items first
    kByKey,   // the same, and an item of an equal `key` takes the lower one's place
  };
  // Shorter and older forms that become the table's form before layers merge (parse/shape.h).
  enum class Shape {
    kPlain,
    kImages,       // a string stands for every type of slot
    kVariables,    // a list stands for every type of slot
    kDevices,      // items "host:container[:mode]"
    kLabels,       // {label: true}
    kLogPolicies,  // {pattern, action: {type}}, {pattern, actions: [...]}
  };
  const char* path;
  const char* description;
  Role role = Role::kValue;
  // `item`: of the list that the path names, if any.
  FieldTarget (*target)(ExperimentConfig& config, size_t item) = nullptr;
  // As JSON; nullptr: none. A section that has one is written as it while all members are defaults.
  const char* default_json = nullptr;
  bool required = false;               // wherever the field means something
  const char* required_for = nullptr;  // by these values of the section's kind alone
  std::optional<double> min;
  std::optional<double> max;
  bool above_min = false;             // min itself is too little
  const char* choices = nullptr;      // "best|all|none"
  const char* gone = nullptr;         // "adaptive: use adaptive_asha|..."
  const char* only_for = nullptr;     // "random|asha": values of the section's kind
  const char* ignored_for = nullptr;  // without effect there
  Merge merge = Merge::kReplace;
  const char* key = nullptr;
  Shape shape = Shape::kPlain;
  // What is said where it is set, because this cluster does not act on it: as a warning where
  // leaving it out does no harm, as a refusal where something would silently be lost.
  const char* warning = nullptr;
  const char* refusal = nullptr;
  const char* refused = nullptr;  // the refusal is for these values alone
  bool secret = false;            // never shown to others
};

std::span<const Field> Fields();
const Field* FindField(std::string_view path);

// The parts of the table, in the order in which documentation shows them.
std::span<const Field> GeneralFields();
std::span<const Field> SearcherFields();
std::span<const Field> TaskFields();
std::span<const Field> TrainingFields();
std::span<const Field> ExtraFields();

// The field whose value says what kind of section the path stands in: searcher.name,
// checkpoint_storage.type; nullptr elsewhere.
const Field* KindField(std::string_view path);

bool IsAmong(const char* words, std::string_view word);
std::vector<std::string> SplitWords(const char* words);  // "a|b|c"

// The fields directly below a path, which is empty or ends with a dot, in the table's order.
const std::vector<const Field*>& FieldsAt(std::string_view path);

// Whether a map stands there whose members are things of their own.
bool IsMap(const Field& field);

// Whether the field means something in this configuration.
bool AppliesTo(const Field& field, const ExperimentConfig& config);

// The type of the field: its place in some configuration, whose lists all have an item. Never
// written to. REQUIRES a kValue or kList.
FieldTarget TypeOf(const Field& field);

// "an integer >= 0", "true or false", "one of best, all, none".
std::string Expected(const Field& field);

// What stands in the field, in the configuration's own format.
Value FieldValue(const Field& field, const ExperimentConfig& config, size_t item = 0);
Value DefaultOf(const Field& field);

}  // namespace det::model

#endif  // MASTER_MODEL_FIELDS_H_
