#include "cli/config_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "cli/json_text.h"

namespace det::cli {
namespace {

// Returns the number of the first line that is not valid UTF-8, counted from 1; 0 if all lines are.
int FindNonUtf8Line(const std::string& text) {
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
    return absl::InvalidArgumentError(absl::StrCat(
        "config: the file name ", EscapeInvalidUtf8(path), " is not UTF-8; rename it"));
  }
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("config: ", text.status().message()));
  }
  if (const int line = FindNonUtf8Line(*text); line > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", line, ": is not UTF-8; save the file as UTF-8"));
  }
  for (const std::string& each : overrides) {
    if (IsUtf8(each)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--config ", EscapeInvalidUtf8(each), ": is not UTF-8"));
  }
  return *text;
}

}  // namespace det::cli
