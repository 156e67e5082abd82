#include "cli/config_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/json_text.h"
#include "yaml-cpp/yaml.h"

namespace det::cli {
namespace {

absl::Status ApplyOne(const std::string& text, YAML::Node root) {
  if (!IsUtf8(text)) {
    return absl::InvalidArgumentError(absl::StrCat("--config ", Legible(text), ": is not UTF-8"));
  }
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

// The line of the first bytes that are no UTF-8, counted from 1; 0 if there are none.
int LineThatIsNoText(const std::string& text) {
  if (IsUtf8(text)) return 0;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (!IsUtf8(line)) return number;
  }
  return number;
}

}  // namespace

absl::StatusOr<std::string> ReadConfig(const std::string& path,
                                       const std::vector<std::string>& overrides) {
  if (!IsUtf8(path)) {
    return absl::InvalidArgumentError(absl::StrCat("configuration: the name of the file ",
                                                   Legible(path), " is not UTF-8; rename it"));
  }
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("configuration: ", text.status().message()));
  }
  if (const int line = LineThatIsNoText(*text); line > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", line, ": is not UTF-8; save the file as UTF-8"));
  }
  return ApplyOverrides(path, *text, overrides);
}

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
