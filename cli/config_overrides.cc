#include "cli/config_overrides.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "yaml-cpp/yaml.h"

namespace det::cli {
namespace {

absl::Status ApplyOne(const std::string& text, YAML::Node root) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--config ", text, ": expected a.b.c=VALUE, where VALUE is YAML"));
  }
  YAML::Node value;
  try {
    value = YAML::Load(text.substr(equals + 1));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("--config ", text, ": ", error.msg));
  }
  const std::vector<std::string> keys = absl::StrSplit(text.substr(0, equals), '.');
  YAML::Node at = root;
  for (size_t i = 0; i + 1 < keys.size(); ++i) {
    YAML::Node next = at[keys[i]];
    if (!next.IsDefined() || next.IsNull()) next = YAML::Node(YAML::NodeType::Map);
    if (!next.IsMap()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--config ", text, ": ",
                       absl::StrJoin(keys.begin(), keys.begin() + i + 1, "."), " is no map"));
    }
    at[keys[i]] = next;
    at.reset(next);
  }
  at[keys.back()] = value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ApplyOverrides(const std::string& path, const std::string& yaml,
                                           const std::vector<std::string>& overrides) {
  if (overrides.empty()) return yaml;
  try {
    YAML::Node root = YAML::Load(yaml);
    if (root.IsNull()) root = YAML::Node(YAML::NodeType::Map);
    if (!root.IsMap()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":1: expected a map of settings"));
    }
    for (const std::string& text : overrides) DET_RETURN_IF_ERROR(ApplyOne(text, root));
    YAML::Emitter out;
    out << root;
    return absl::StrCat(out.c_str(), "\n");
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", error.mark.line + 1, ": ", error.msg));
  }
}

}  // namespace det::cli
