#include "master/parse/config_node.h"

#include <utility>

namespace det::model {

const ConfigNode* ConfigNode::Find(std::string_view key) const {
  for (const ConfigMember& member : members) {
    if (member.key == key) return member.value.is_null() ? nullptr : &member.value;
  }
  return nullptr;
}

const ConfigNode* ConfigNode::FindPath(std::string_view path) const {
  const ConfigNode* node = this;
  while (node != nullptr && !path.empty()) {
    const size_t dot = path.find('.');
    node = node->Find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

ConfigNode* ConfigNode::FindPath(std::string_view path) {
  return const_cast<ConfigNode*>(std::as_const(*this).FindPath(path));
}

Value ConfigNode::ToValue() const {
  switch (kind) {
    case Kind::kNull:
      return Value();
    case Kind::kScalar:
      return scalar;
    case Kind::kList: {
      Value::List list;
      for (const ConfigNode& item : items) list.push_back(item.ToValue());
      return list;
    }
    case Kind::kMap:
      break;
  }
  Value::Object object;
  for (const ConfigMember& member : members) object.emplace(member.key, member.value.ToValue());
  return object;
}

std::string ConfigNode::Describe() const {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kScalar:
      return scalar.ToJson();
    case Kind::kList:
      return items.empty() ? "an empty list" : "a list";
    case Kind::kMap:
      break;
  }
  return members.empty() ? "an empty map" : "a map";
}

ConfigNode FromValue(const Value& value, const std::string& source) {
  ConfigNode node;
  node.where = source;
  if (const Value::List* list = value.AsList()) {
    node.kind = ConfigNode::Kind::kList;
    for (const Value& item : *list) node.items.push_back(FromValue(item, source));
  } else if (const Value::Object* object = value.AsObject()) {
    node.kind = ConfigNode::Kind::kMap;
    for (const auto& [key, member] : *object) {
      node.members.push_back({key, source, FromValue(member, source)});
    }
  } else if (!value.is_null()) {
    node.kind = ConfigNode::Kind::kScalar;
    node.scalar = value;
  }
  return node;
}

}  // namespace det::model
