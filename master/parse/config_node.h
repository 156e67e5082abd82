// A configuration as it was written, before anyone knows what it means: a tree that remembers where
// each part stands. Made from YAML or from a Value. Private to model/parse.
#ifndef MASTER_PARSE_CONFIG_NODE_H_
#define MASTER_PARSE_CONFIG_NODE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/value.h"

namespace det::model {

struct ConfigMember;

struct ConfigNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  Value scalar;                       // kScalar: a bool, number or string
  std::string where;                  // "const.yaml:12", "--config a.b"
  std::vector<ConfigNode> items;      // kList
  std::vector<ConfigMember> members;  // kMap, in the order of the text
  // A map that was not written, but leads to the value of an override "a.b.c=value".
  bool leads = false;

  bool is_null() const { return kind == Kind::kNull; }
  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  const std::string* AsString() const { return is_scalar() ? scalar.AsString() : nullptr; }
  bool is_scalar() const { return kind == Kind::kScalar; }

  // A member that is not null, or nullptr.
  const ConfigNode* Find(std::string_view key) const;
  // By "a.b.c"; nullptr where any of them is missing or null.
  const ConfigNode* FindPath(std::string_view path) const;
  ConfigNode* FindPath(std::string_view path);
  Value ToValue() const;
  // For messages: `"two"`, `1.5`, `a list`.
  std::string Describe() const;
};

struct ConfigMember {
  std::string key;
  std::string where;  // of the key
  ConfigNode value;
  bool implied = false;  // was not written itself, but follows from what stands around it
};

// One YAML document. INVALID_ARGUMENT "source:line: why" for what is none, for a key that stands
// twice, for text that is not UTF-8. Anchors, aliases and merge keys are resolved.
// `with_lines` false: `where` is the source alone.
absl::StatusOr<ConfigNode> ReadYaml(std::string_view text, const std::string& source,
                                    bool with_lines);

ConfigNode FromValue(const Value& value, const std::string& source);

}  // namespace det::model

#endif  // MASTER_PARSE_CONFIG_NODE_H_
