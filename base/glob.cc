#include "base/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_split.h"

namespace det::base {
namespace {

constexpr char kAnyDirectories[] = "**";

std::vector<std::string> Split(std::string_view path) {
  return absl::StrSplit(absl::string_view(path.data(), path.size()), '/');
}

}  // namespace

Glob::Glob(std::string_view pattern) : parts_(Split(pattern)) {
  if (parts_.back().empty()) parts_.back() = kAnyDirectories;
}

bool Glob::Matches(std::string_view path) const {
  const std::vector<std::string> components = Split(path);
  size_t at = 0;
  size_t taken = 0;
  // The position after the last `**`, from which matching continues when a later component does not
  // match. An earlier `**` cannot match more.
  std::optional<size_t> after_wildcard;
  for (size_t i = 0; i < components.size();) {
    if (at < parts_.size() && parts_[at] == kAnyDirectories) {
      after_wildcard = ++at;
      taken = i;
    } else if (at < parts_.size() && ::fnmatch(parts_[at].c_str(), components[i].c_str(), 0) == 0) {
      ++at;
      ++i;
    } else if (after_wildcard) {
      at = *after_wildcard;
      i = ++taken;
    } else {
      return false;
    }
  }
  return std::all_of(parts_.begin() + static_cast<std::ptrdiff_t>(at), parts_.end(),
                     [](const std::string& part) { return part == kAnyDirectories; });
}

}  // namespace det::base
