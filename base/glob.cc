#include "base/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/str_split.h"

namespace det::base {
namespace {

constexpr char kAnyFolders[] = "**";

std::vector<std::string> Split(std::string_view path) {
  return absl::StrSplit(absl::string_view(path.data(), path.size()), '/');
}

}  // namespace

Glob::Glob(std::string_view pattern) : parts_(Split(pattern)) {
  if (parts_.back().empty()) parts_.back() = kAnyFolders;
}

bool Glob::Fits(std::string_view path) const {
  const std::vector<std::string> given = Split(path);
  size_t at = 0, taken = 0;
  // Behind the last `**`, where it goes on when what follows does not fit: one before it could take
  // no more.
  std::optional<size_t> behind;
  for (size_t i = 0; i < given.size();) {
    if (at < parts_.size() && parts_[at] == kAnyFolders) {
      behind = ++at;
      taken = i;
    } else if (at < parts_.size() && ::fnmatch(parts_[at].c_str(), given[i].c_str(), 0) == 0) {
      ++at;
      ++i;
    } else if (behind) {
      at = *behind;
      i = ++taken;
    } else {
      return false;
    }
  }
  return std::all_of(parts_.begin() + static_cast<std::ptrdiff_t>(at), parts_.end(),
                     [](const std::string& part) { return part == kAnyFolders; });
}

}  // namespace det::base
