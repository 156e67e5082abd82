// A table of all fields of a configuration: type, range, default, merge rule and description.
// Reading, validation, writing, merging, the documentation page and the JSON Schema are derived
// from it. There are two tables: of experiments (fields.h) and of the master
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
    kIgnored,  // deprecated; accepted without effect
    kRemoved,  // deprecated; refused, with the description as the error
  };
  // How a value of a higher layer is combined with one of a lower layer. Maps always merge member
  // by member; hyperparameters only if both are nested.
  enum class Merge {
    kReplace,
    kAppend,  // the lower layer's items first
    kByKey,   // as kAppend, but an item replaces a lower one with an equal `key`
  };
  // Short and old forms, which parse/shape.h converts before layers merge.
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
  // Returns the member of a configuration of the table's type; `item` is the index in the list that
  // the path names, if any. The type of the member is the type of the field.
  FieldTarget (*target)(void* config, size_t item) = nullptr;
  // JSON text; nullptr: no default. A section with a default is written as that default while all
  // members have their defaults.
  const char* default_json = nullptr;
  // JSON text that answers of the API have in place of the default, because existing clients know
  // it; it is accepted in a configuration and means the default. nullptr: the default itself.
  const char* shown_default = nullptr;
  bool required = false;               // wherever the field applies
  const char* required_for = nullptr;  // only for these values of the section's kind
  std::optional<double> min;
  std::optional<double> max;
  bool above_min = false;             // min itself is excluded
  const char* choices = nullptr;      // "best|all|none"
  const char* removed = nullptr;      // "adaptive: use adaptive_asha|..."
  const char* only_for = nullptr;     // "random|asha": values of the section's kind
  const char* ignored_for = nullptr;  // accepted without effect for these
  Merge merge = Merge::kReplace;
  const char* key = nullptr;
  Shape shape = Shape::kPlain;
  // The message if the field is set although this cluster does not support it: a warning if
  // ignoring it is harmless, an error otherwise.
  const char* warning = nullptr;
  const char* refusal = nullptr;
  const char* refused = nullptr;  // `refusal` applies only to these values
  bool kind = false;              // its value determines the kind of its section
  bool secret = false;            // never shown to users
};

class FieldTable {
 public:
  // `scratch` is a configuration of the table's type that outlives the table. Each of its lists
  // gets one item, to determine types; it is not modified afterwards.
  FieldTable(std::vector<Field> fields, void* scratch);
  FieldTable(const FieldTable&) = delete;
  FieldTable& operator=(const FieldTable&) = delete;

  // The fields in the order of the documentation.
  std::span<const Field> fields() const { return fields_; }
  const Field* Find(std::string_view path) const;
  // The fields directly below a path, which is empty or ends with a dot, in the table's order.
  const std::vector<const Field*>& At(std::string_view path) const;
  // The field whose value is the kind of the section that contains the path; nullptr if none.
  const Field* GetKindField(std::string_view path) const;
  // The type of the field, as a member of the scratch configuration. REQUIRES a kValue or kList.
  FieldTarget GetType(const Field& field) const { return field.target(scratch_, 0); }
  // "an integer >= 0", "true or false", "one of best, all, none".
  std::string Expected(const Field& field) const;

 private:
  std::vector<Field> fields_;
  void* scratch_;
  std::unordered_map<std::string_view, const Field*> by_path_;
  // Keyed by the parent path with its dot.
  std::unordered_map<std::string_view, std::vector<const Field*>> below_;
};

bool IsAmong(const char* words, std::string_view word);
std::vector<std::string> SplitWords(const char* words);  // "a|b|c"

// Returns the value of a member in the format of the configuration. REQUIRES a kValue.
Value ValueAt(const Field& field, const FieldTarget& target);
Value GetDefault(const Field& field);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FIELD_TABLE_H_
