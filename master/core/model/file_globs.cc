#include "master/core/model/file_globs.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/glob.h"

namespace det::model {
namespace {

constexpr size_t kMaxGlobs = 100;
constexpr size_t kMaxBytes = 1024;

absl::Status CheckGlob(const std::string& glob) {
  const auto reject = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern \"", glob, "\" ", why,
                     "; expected a path within the checkpoint, such as optimizer*.pt or code/**"));
  };
  if (glob.empty()) return reject("is empty");
  if (glob.size() > kMaxBytes) {
    return reject(absl::StrCat("is longer than ", kMaxBytes, " bytes"));
  }
  for (const absl::string_view part : absl::StrSplit(absl::StripSuffix(glob, "/"), '/')) {
    if (part.empty() || part == "." || part == "..") return reject("leads out of the checkpoint");
  }
  return absl::OkStatus();
}

bool AnyBelow(const Resources& paths, const std::string& folder) {
  const auto first = paths.upper_bound(folder);
  return first != paths.end() && absl::StartsWith(first->first, folder);
}

}  // namespace

absl::Status CheckGlobs(const Globs& globs) {
  if (globs.size() > kMaxGlobs) {
    return absl::InvalidArgumentError(
        absl::StrCat("too many patterns: ", globs.size(), "; at most ", kMaxGlobs, " are allowed"));
  }
  for (const std::string& glob : globs) {
    if (absl::Status status = CheckGlob(glob); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool MatchesAllFiles(const Globs& globs) {
  return std::any_of(globs.begin(), globs.end(), [](const std::string& glob) {
    return glob == "**" || glob == "**/" || glob == "**/*" || glob == "**/**";
  });
}

std::string ToGlob(const std::string& path) {
  std::string glob;
  for (const char c : path) {
    if (absl::StrContains("*?[\\", absl::string_view(&c, 1))) glob += '\\';
    glob += c;
  }
  return glob;
}

Resources GetRemaining(const Resources& all, const Globs& globs) {
  const std::vector<base::Glob> patterns(globs.begin(), globs.end());
  Resources files;
  Resources folders;
  Resources removed;
  for (const auto& [path, bytes] : all) {
    const absl::string_view name = absl::StripSuffix(path, "/");
    const bool named =
        std::any_of(patterns.begin(), patterns.end(), [&](const base::Glob& pattern) {
          return pattern.Matches({name.data(), name.size()});
        });
    const bool folder = absl::EndsWith(path, "/");
    if (named) removed.emplace(path, bytes);
    if (folder) folders.emplace(path, bytes);
    if (!named && !folder) files.emplace(path, bytes);
  }
  Resources left = files;
  for (const auto& [path, bytes] : folders) {
    const bool emptied = removed.contains(path) || AnyBelow(removed, path);
    if (AnyBelow(files, path) || !emptied) left.emplace(path, bytes);
  }
  return left;
}

bool HasFiles(const Resources& resources) {
  return std::any_of(resources.begin(), resources.end(),
                     [](const auto& each) { return !absl::EndsWith(each.first, "/"); });
}

bool MatchesFiles(const Resources& all, const Globs& globs) {
  const Resources left = GetRemaining(all, globs);
  return std::any_of(all.begin(), all.end(), [&](const auto& each) {
    return !absl::EndsWith(each.first, "/") && !left.contains(each.first);
  });
}

}  // namespace det::model
