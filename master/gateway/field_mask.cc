#include "master/gateway/field_mask.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include <nlohmann/json.hpp>

namespace det::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Json = nlohmann::ordered_json;  // fields stay in their order
using Node = FieldMask::Node;

constexpr size_t kDepth = 32;

// How many letters are to be added, removed or replaced.
size_t Edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({replaced, corner + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

absl::Status Unknown(const std::string& path, const std::string& name, const Descriptor& type) {
  std::string nearest;
  size_t least = std::string::npos;
  for (int i = 0; i < type.field_count(); ++i) {
    const size_t edits = Edits(name, type.field(i)->json_name());
    if (edits >= least) continue;
    least = edits;
    nearest = type.field(i)->json_name();
  }
  std::string text =
      absl::StrCat("fields: \"", path, "\": ", type.name(), " has no \"", name, "\"");
  if (!nearest.empty()) absl::StrAppend(&text, "; the nearest is \"", nearest, "\"");
  return absl::InvalidArgumentError(text);
}

const FieldDescriptor* Find(const Descriptor& type, const std::string& name) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->name() == name || type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

// Written as any JSON, so that every name may be in it.
bool IsFree(const Descriptor& type) {
  return type.full_name() == "google.protobuf.Struct" ||
         type.full_name() == "google.protobuf.Value";
}

// The names of a path as they stand in JSON.
absl::StatusOr<std::vector<std::string>> Resolve(const std::string& path, const Descriptor& root) {
  std::vector<std::string> names = absl::StrSplit(path, '.');
  if (names.size() > kDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("fields: a path has at most ", kDepth, " names, not ", names.size()));
  }
  const Descriptor* type = &root;
  const FieldDescriptor* key = nullptr;  // the values of a map: what comes next is a key
  for (std::string& name : names) {
    if (key != nullptr) {
      type = std::exchange(key, nullptr)->message_type();
      continue;
    }
    if (type == nullptr || (!IsFree(*type) && type->file()->package() == "google.protobuf")) {
      return absl::InvalidArgumentError(absl::StrCat("fields: \"", path, "\": \"", name,
                                                     "\" is below a field that has no fields"));
    }
    if (IsFree(*type)) break;
    const FieldDescriptor* field = Find(*type, name);
    if (field == nullptr) return Unknown(path, name, *type);
    name = field->json_name();
    if (field->is_map()) key = field->message_type()->map_value();
    type = field->message_type();
  }
  return names;
}

void Add(const std::vector<std::string>& names, Node* node) {
  for (size_t i = 0; i < names.size(); ++i) {
    const auto [it, fresh] = node->members.try_emplace(names[i]);
    node = &it->second;
    if (!fresh && node->members.empty()) return;  // another path has the whole of it
  }
  node->members.clear();
}

void Cut(const Node& node, Json* json) {
  if (node.members.empty()) return;
  if (json->is_array()) {
    for (Json& each : *json) Cut(node, &each);
    return;
  }
  if (!json->is_object()) return;
  Json kept = Json::object();
  for (auto& [name, value] : json->items()) {
    const auto it = node.members.find(name);
    if (it == node.members.end()) continue;
    Cut(it->second, &value);
    kept[name] = std::move(value);
  }
  *json = std::move(kept);
}

}  // namespace

absl::StatusOr<FieldMask> FieldMask::Parse(std::string_view text, const Descriptor& type) {
  FieldMask mask;
  const absl::string_view view(text.data(), text.size());
  for (const std::string& path : std::vector<std::string>(absl::StrSplit(view, ','))) {
    if (path.empty()) {
      return absl::InvalidArgumentError(
          "fields: a path is empty; write them as \"experiments.id,experiments.state\"");
    }
    DET_ASSIGN_OR_RETURN(const std::vector<std::string> names, Resolve(path, type));
    Add(names, &mask.root_);
  }
  return mask;
}

absl::StatusOr<std::string> FieldMask::Apply(std::string_view json) const {
  Json answer = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (answer.is_discarded()) return absl::InternalError("fields: the answer is no JSON");
  Cut(root_, &answer);
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace det::gateway
