#include "master/parse/shape.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

ConfigNode MapAt(const std::string& where) {
  ConfigNode map;
  map.kind = ConfigNode::Kind::kMap;
  map.where = where;
  return map;
}

ConfigNode TextAt(const std::string& where, std::string text) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.where = where;
  node.scalar = std::move(text);
  return node;
}

// Expands one value to every slot type, and renames `gpu` to `cuda`.
void SpreadOverSlotTypes(ConfigNode& node, ConfigNode::Kind one) {
  if (node.kind == one) {
    ConfigNode map = MapAt(node.where);
    for (const char* type : {"cpu", "cuda", "rocm"}) {
      map.members.push_back({type, node.where, node, true});
    }
    node = std::move(map);
    return;
  }
  const bool has_cuda = node.Find("cuda") != nullptr;
  for (size_t i = 0; i < node.members.size(); ++i) {
    if (node.members[i].key != "gpu") continue;
    if (!has_cuda) {
      std::erase_if(node.members, [](const ConfigMember& m) { return m.key == "cuda"; });
      for (ConfigMember& member : node.members) {
        if (member.key == "gpu") member.key = "cuda";
      }
    } else {
      node.members.erase(node.members.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return;
  }
}

// Splits "/dev/a:/dev/b[:mode]".
void SplitDevice(ConfigNode& node) {
  if (node.AsString() == nullptr) return;
  const std::vector<std::string> parts = absl::StrSplit(*node.AsString(), ':');
  if (parts.size() < 2 || parts.size() > 3) return;
  ConfigNode map = MapAt(node.where);
  const char* const keys[] = {"host_path", "container_path", "mode"};
  for (size_t i = 0; i < parts.size(); ++i) {
    map.members.push_back({keys[i], node.where, TextAt(node.where, parts[i])});
  }
  node = std::move(map);
}

// Converts {fast: true, old: false} to a list. An experiment has each label once.
void ListLabels(ConfigNode& node) {
  if (node.is_list()) {
    std::set<std::string> known;
    std::erase_if(node.items, [&known](const ConfigNode& item) {
      const std::string* label = item.AsString();
      return label != nullptr && !known.insert(*label).second;
    });
  }
  if (!node.is_map()) return;
  ConfigNode list;
  list.kind = ConfigNode::Kind::kList;
  list.where = node.where;
  for (const ConfigMember& member : node.members) {
    const bool* wanted = member.value.scalar.AsBool();
    if (wanted != nullptr && !*wanted) continue;
    list.items.push_back(TextAt(member.where, member.key));
  }
  node = std::move(list);
}

// Converts {type: cancel_retries} to the word.
void UnwrapAction(ConfigNode& action) {
  const ConfigNode* type = action.members.size() == 1 ? action.Find("type") : nullptr;
  if (type == nullptr) return;
  ConfigNode word = *type;
  action = std::move(word);
}

void SetMember(ConfigNode& map, const std::string& key, ConfigNode value) {
  std::erase_if(map.members, [&key](const ConfigMember& m) { return m.key == key; });
  std::string where = value.where;
  map.members.push_back({key, std::move(where), std::move(value)});
}

// Reads the name and the action of a policy from `actions: [{signal: name}, action]`, each at most
// once. Returns false for another form.
bool ReadActions(const ConfigNode& actions, ConfigNode& name, ConfigNode& action) {
  if (!actions.is_list()) return false;
  for (const ConfigNode& item : actions.items) {
    const ConfigNode* signal = item.Find("signal");
    ConfigNode& place = signal != nullptr ? name : action;
    if (!place.is_null()) return false;
    place = signal != nullptr ? *signal : item;
  }
  return true;
}

// Converts the old form of a log policy, which has no name, and a list of actions.
void ModernizeLogPolicy(ConfigNode& policy) {
  ConfigNode name;
  ConfigNode action;
  const ConfigNode* actions = policy.Find("actions");
  if (actions != nullptr && ReadActions(*actions, name, action)) {
    std::erase_if(policy.members, [](const ConfigMember& m) { return m.key == "actions"; });
    if (!action.is_null()) SetMember(policy, "action", std::move(action));
  }
  if (ConfigNode* own = policy.FindPath("action")) UnwrapAction(*own);
  if (policy.Find("name") != nullptr) return;
  if (name.is_null() && policy.Find("pattern") != nullptr) name = *policy.Find("pattern");
  if (!name.is_null()) SetMember(policy, "name", std::move(name));
}

// Converts the old form of gradient_compression, a boolean.
void NameCompression(ConfigNode& node) {
  const bool* wanted = node.is_scalar() ? node.scalar.AsBool() : nullptr;
  if (wanted != nullptr) node = TextAt(node.where, *wanted ? "float16" : "none");
}

void Reshape(Field::Shape shape, ConfigNode& node) {
  switch (shape) {
    case Field::Shape::kPlain:
      return;
    case Field::Shape::kImages:
      return SpreadOverSlotTypes(node, ConfigNode::Kind::kScalar);
    case Field::Shape::kVariables:
      return SpreadOverSlotTypes(node, ConfigNode::Kind::kList);
    case Field::Shape::kDevices:
      for (ConfigNode& item : node.items) SplitDevice(item);
      return;
    case Field::Shape::kLabels:
      return ListLabels(node);
    case Field::Shape::kCompression:
      return NameCompression(node);
    case Field::Shape::kLogPolicies:
      for (ConfigNode& item : node.items) ModernizeLogPolicy(item);
      return;
  }
}

}  // namespace

void ToTableForm(ConfigNode& root) {
  for (const Field& field : Fields()) {
    if (field.shape == Field::Shape::kPlain) continue;
    if (ConfigNode* node = root.FindPath(field.path)) Reshape(field.shape, *node);
  }
}

}  // namespace det::model
