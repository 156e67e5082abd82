// A table of all fields of a configuration: what may stand there, what it defaults to, how layers
// merge, what it is for. Reading, validation, writing, merging, the documentation page and the JSON
// Schema come from it. There are two: of experiments (fields.h) and of the master
// (master/app/config_fields.h). On any thread. PURE.
//
// A field of the items of a list has a path like "bind_mounts[].host_path".
#ifndef MASTER_CORE_MODEL_FIELD_TABLE_H_
#define MASTER_CORE_MODEL_FIELD_TABLE_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "master/core/model/field_target.h"

namespace det::model {

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
    kCompression,  // true, false
  };
  const char* path;
  const char* description;
  Role role = Role::kValue;
  // The place in a configuration of the table's type; `item`: of the list that the path names, if
  // any. The place's type is the field's type.
  FieldTarget (*target)(void* config, size_t item) = nullptr;
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
  bool kind = false;              // its value says what kind of section it stands in
  bool secret = false;            // never shown to others
};

class FieldTable {
 public:
  // `scratch`: a configuration of the table's type, which outlives it; its lists are given an item
  // to look at, and it is never written to again.
  FieldTable(std::vector<Field> fields, void* scratch);
  FieldTable(const FieldTable&) = delete;
  FieldTable& operator=(const FieldTable&) = delete;

  // In the order in which documentation shows them.
  std::span<const Field> fields() const { return fields_; }
  const Field* Find(std::string_view path) const;
  // Those directly below a path, which is empty or ends with a dot, in the table's order.
  const std::vector<const Field*>& At(std::string_view path) const;
  // The field whose value says what kind of section the path stands in; nullptr elsewhere.
  const Field* KindOf(std::string_view path) const;
  // The type of the field: its place in the scratch. REQUIRES a kValue or kList.
  FieldTarget TypeOf(const Field& field) const { return field.target(scratch_, 0); }
  // "an integer >= 0", "true or false", "one of best, all, none".
  std::string Expected(const Field& field) const;

 private:
  std::vector<Field> fields_;
  void* scratch_;
  std::unordered_map<std::string_view, const Field*> by_path_;
  // By the path around it with its dot.
  std::unordered_map<std::string_view, std::vector<const Field*>> below_;
};

bool IsAmong(const char* words, std::string_view word);
std::vector<std::string> SplitWords(const char* words);  // "a|b|c"

// What stands in a place, in the configuration's own format. REQUIRES a kValue's.
Value ValueAt(const Field& field, const FieldTarget& target);
Value DefaultOf(const Field& field);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FIELD_TABLE_H_
