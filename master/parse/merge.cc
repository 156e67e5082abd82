#include "master/parse/merge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "master/core/model/fields.h"
#include "master/parse/shape.h"

namespace det::model {
namespace {

ConfigNode MergeAt(const std::string& path, ConfigNode low, const ConfigNode& high);

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

ConfigNode MergeMaps(const std::string& path, ConfigNode low, const ConfigNode& high) {
  const std::string prefix = path.empty() ? "" : path + ".";
  RemoveMembersOfOtherKind(prefix, high, low);
  for (const ConfigMember& member : high.members) {
    ConfigMember* mine = FindMember(low, member.key);
    if (member.value.is_null() && high.leads) {
      std::erase_if(low.members, [&](const ConfigMember& m) { return m.key == member.key; });
    } else if (mine == nullptr) {
      low.members.push_back(member);
    } else if (!member.value.is_null() || path.starts_with("hyperparameters")) {
      mine->value = MergeAt(prefix + member.key, std::move(mine->value), member.value);
      mine->where = member.where;
      mine->implied = member.implied;
    }
  }
  low.where = high.where;
  return low;
}

ConfigNode MergeLists(const Field& field, ConfigNode low, const ConfigNode& high) {
  for (const ConfigNode& item : high.items) {
    const ConfigNode* key = field.merge == Field::Merge::kByKey ? item.Find(field.key) : nullptr;
    const auto same = [&](const ConfigNode& mine) {
      const ConfigNode* other = mine.Find(field.key);
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

ConfigNode MergeAt(const std::string& path, ConfigNode low, const ConfigNode& high) {
  // Null is equivalent to absent, except as the value of a hyperparameter.
  if (high.is_null()) return path.starts_with("hyperparameters.") ? high : low;
  if (low.is_null()) return high;
  if (low.is_map() && high.is_map() && MergesAsMap(path, low, high)) {
    return MergeMaps(path, std::move(low), high);
  }
  const Field* field = FindField(path);
  if (low.is_list() && high.is_list() && field != nullptr &&
      field->merge != Field::Merge::kReplace) {
    return MergeLists(*field, std::move(low), high);
  }
  return high;
}

}  // namespace

ConfigNode MergeConfig(ConfigNode low, const ConfigNode& high) {
  return MergeAt("", std::move(low), high);
}

absl::Status ApplyOverride(const std::string& override_text, ConfigNode& root) {
  const size_t equals = override_text.find('=');
  const std::string path = override_text.substr(0, equals);
  const std::string where = absl::StrCat("--config ", path);
  const std::vector<std::string> keys = absl::StrSplit(path, '.');
  const bool named =
      equals != std::string::npos && std::find(keys.begin(), keys.end(), "") == keys.end();
  if (!named) {
    return absl::InvalidArgumentError(
        absl::StrCat("--config ", override_text, ": expected the form key.subkey=value"));
  }
  DET_ASSIGN_OR_RETURN(ConfigNode layer,
                       ReadYaml(std::string_view(override_text).substr(equals + 1), where, false));
  const ConfigNode* below = &root;
  for (const std::string& key : keys) {
    if (below != nullptr && !below->is_null() && !below->is_map()) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": cannot set \"", key, "\" in ",
                                                     below->Describe(), "; expected a map"));
    }
    below = below == nullptr ? nullptr : below->Find(key);
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
  root = MergeConfig(std::move(root), layer);
  return absl::OkStatus();
}

}  // namespace det::model
