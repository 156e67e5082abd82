#include "master/parse/merge.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "master/core/model/fields.h"
#include "master/parse/shape.h"

namespace det::model {
namespace {

// What becomes of two lists at the same path.
enum class Lists {
  kByTable,  // the field's merge rule
  kReplace,
  kAppend,  // the field's merge rule; lists of other fields are appended
};

ConfigNode MergeAt(const std::string& path, ConfigNode low, const ConfigNode& high, Lists lists);

ConfigMember* FindMember(ConfigNode& map, std::string_view key) {
  for (ConfigMember& member : map.members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

// Whether maps at the path merge member by member; not so for one value such as {batches: 100}.
bool MergesAsMap(const std::string& path, const ConfigNode& low, const ConfigNode& high) {
  if (path.starts_with("hyperparameters.")) {
    const bool nested = low.Find("type") == nullptr && high.Find("type") == nullptr;
    return nested || high.leads;
  }
  const Field* field = FindField(path);
  return field == nullptr || IsMap(*field);
}

// Removes fields that do not apply to the kind of searcher or storage that `high` chooses.
void RemoveMembersOfOtherKind(const std::string& prefix, const ConfigNode& high, ConfigNode& low) {
  const Field* kind = KindField(prefix);
  if (kind == nullptr) return;
  const std::string key = std::string(kind->path).substr(prefix.size());
  const ConfigNode* after = high.Find(key);
  const ConfigNode* before = low.Find(key);
  const Value was = before != nullptr ? before->ToValue() : GetDefault(*kind);
  if (after == nullptr || after->AsString() == nullptr || was.is_null() || was == after->scalar) {
    return;
  }
  std::erase_if(low.members, [&](const ConfigMember& member) {
    const Field* field = FindField(prefix + member.key);
    return field != nullptr && field->only_for != nullptr &&
           !IsAmong(field->only_for, *after->AsString());
  });
}

ConfigNode MergeMaps(const std::string& path, ConfigNode low, const ConfigNode& high, Lists lists) {
  const std::string prefix = path.empty() ? "" : path + ".";
  RemoveMembersOfOtherKind(prefix, high, low);
  for (const ConfigMember& member : high.members) {
    ConfigMember* mine = FindMember(low, member.key);
    const bool nullable = path.starts_with("hyperparameters");
    if (member.value.is_null() && high.leads && !nullable) {
      std::erase_if(low.members, [&](const ConfigMember& m) { return m.key == member.key; });
    } else if (mine == nullptr) {
      low.members.push_back(member);
    } else if (!member.value.is_null() || nullable) {
      mine->value = MergeAt(prefix + member.key, std::move(mine->value), member.value, lists);
      mine->where = member.where;
      mine->implied = member.implied;
    }
  }
  low.where = high.where;
  return low;
}

// Appends the items; one replaces a lower item with an equal member `by_key`, if that is
// not nullptr.
ConfigNode MergeLists(const char* by_key, ConfigNode low, const ConfigNode& high) {
  for (const ConfigNode& item : high.items) {
    const ConfigNode* key = by_key != nullptr ? item.Find(by_key) : nullptr;
    const auto same = [&](const ConfigNode& mine) {
      const ConfigNode* other = mine.Find(by_key);
      return other != nullptr && other->ToValue() == key->ToValue();
    };
    const auto found =
        key == nullptr ? low.items.end() : std::find_if(low.items.begin(), low.items.end(), same);
    if (found == low.items.end()) {
      low.items.push_back(item);
    } else {
      *found = item;
    }
  }
  low.where = high.where;
  return low;
}

ConfigNode MergeAt(const std::string& path, ConfigNode low, const ConfigNode& high, Lists lists) {
  // Null is equivalent to absent, except as the value of a hyperparameter.
  if (high.is_null()) return path.starts_with("hyperparameters.") ? high : low;
  if (low.is_null()) return high;
  if (low.is_map() && high.is_map() && MergesAsMap(path, low, high)) {
    return MergeMaps(path, std::move(low), high, lists);
  }
  if (!low.is_list() || !high.is_list() || lists == Lists::kReplace) return high;
  const Field* field = FindField(path);
  const Field::Merge rule = field == nullptr ? Field::Merge::kReplace : field->merge;
  if (rule == Field::Merge::kReplace && lists == Lists::kByTable) return high;
  const bool by_key = rule == Field::Merge::kByKey;
  return MergeLists(by_key ? field->key : nullptr, std::move(low), high);
}

ConfigNode MakeList(ConfigNode item) {
  ConfigNode list;
  list.kind = ConfigNode::Kind::kList;
  list.where = item.where;
  list.items.push_back(std::move(item));
  return list;
}

// Whether "a,b" is a list at the path: where users choose the types, and in lists of scalars.
bool TakesCommaList(const std::string& path) {
  if (path.starts_with("hyperparameters.") || path.starts_with("data.")) return true;
  const Field* field = FindField(path);
  if (field == nullptr) return false;
  if (field->shape == Field::Shape::kVariables) return true;
  if (field->role != Field::Role::kValue) return false;
  const FieldTarget type = ExperimentFields().GetType(*field);
  return std::holds_alternative<std::vector<std::string>*>(type) ||
         std::holds_alternative<std::vector<int64_t>*>(type) ||
         std::holds_alternative<VariablesTarget>(type);
}

// Reads the value as existing clients do: "a,b" is a list, also without brackets, and one map is a
// list of maps.
absl::StatusOr<ConfigNode> ReadOverrideValue(const std::string& path, std::string_view text,
                                             const std::string& where) {
  const bool bracketed = !text.empty() && std::string_view("[{'\"").find(text[0]) != text.npos;
  if (bracketed || text.find(',') == text.npos || !TakesCommaList(path)) {
    DET_ASSIGN_OR_RETURN(ConfigNode value, ReadYaml(text, where, false));
    const Field* field = FindField(path);
    const bool single = field != nullptr && field->role == Field::Role::kList && value.is_map();
    return single ? MakeList(std::move(value)) : value;
  }
  ConfigNode list;
  list.kind = ConfigNode::Kind::kList;
  list.where = where;
  for (const absl::string_view item :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    DET_ASSIGN_OR_RETURN(list.items.emplace_back(),
                         ReadYaml({item.data(), item.size()}, where, false));
  }
  return list;
}

}  // namespace

ConfigNode MergeConfig(ConfigNode low, const ConfigNode& high) {
  return MergeAt("", std::move(low), high, Lists::kByTable);
}

absl::Status ApplyOverride(const std::string& override_text, ConfigNode& root) {
  const size_t equals = override_text.find('=');
  std::string path = override_text.substr(0, equals);
  const bool appends = equals != std::string::npos && path.ends_with('+');
  if (appends) path.pop_back();
  const std::string where = absl::StrCat("--config ", path);
  const std::vector<std::string> keys = absl::StrSplit(path, '.');
  const bool named =
      equals != std::string::npos && std::find(keys.begin(), keys.end(), "") == keys.end();
  if (!named) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--config ", override_text,
        ": expected the form key.subkey=value, or key.subkey+=value to append to a list or a map"));
  }
  DET_ASSIGN_OR_RETURN(
      ConfigNode layer,
      ReadOverrideValue(path, std::string_view(override_text).substr(equals + 1), where));
  const ConfigNode* below = &root;
  for (const std::string& key : keys) {
    if (below != nullptr && !below->is_null() && !below->is_map()) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": cannot set \"", key, "\" in ",
                                                     below->Describe(), "; expected a map"));
    }
    below = below == nullptr ? nullptr : below->Find(key);
  }
  const bool set = below != nullptr && !below->is_null();
  const bool extends = layer.is_map() && (!set || below->is_map());
  if (appends && !extends && !layer.is_list()) layer = MakeList(std::move(layer));
  if (appends && below != nullptr && below->is_scalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": cannot append to ", below->Describe(), "; expected a list"));
  }
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    ConfigNode map;
    map.kind = ConfigNode::Kind::kMap;
    map.where = where;
    map.leads = true;
    map.members.push_back({*key, where, std::move(layer)});
    layer = std::move(map);
  }
  ToTableForm(layer);
  if (root.is_null()) root.kind = ConfigNode::Kind::kMap;
  if (set && extends && !appends) root.FindPath(path)->members.clear();
  root = MergeAt("", std::move(root), layer, appends ? Lists::kAppend : Lists::kReplace);
  return absl::OkStatus();
}

}  // namespace det::model
