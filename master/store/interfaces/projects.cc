#include "master/store/interfaces/projects.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace det::store {
namespace {

constexpr size_t kPrefix = 3;
constexpr size_t kLongest = 5;

}  // namespace

std::string MakeProjectKey(const std::string& name, int n) {
  std::string key;
  for (const char c : name) {
    if (key.size() < kPrefix && absl::ascii_isalnum(c)) key.push_back(absl::ascii_toupper(c));
  }
  if (key.empty()) key.push_back('P');
  if (n == 1) return key;
  const std::string number = std::to_string(n);
  if (number.size() >= kLongest) return number;
  return key.substr(0, kLongest - number.size()) + number;
}

absl::Status NoSuchProject(int32_t id) {
  return absl::NotFoundError(absl::StrCat(
      "project ", id, " not found; `det project list <workspace>` shows those of a workspace"));
}
absl::Status NoSuchResource() { return absl::NotFoundError("resource not found"); }
absl::Status NoSuchProjectKey(const std::string& key) {
  return absl::NotFoundError(absl::StrCat("project with key \"", key, "\" not found"));
}
absl::Status ProjectExists(const std::string& name) {
  return absl::AlreadyExistsError(absl::StrCat("another project of this workspace is named \"",
                                               name, "\"; choose another name"));
}
absl::Status ProjectKeyExists(const std::string& key) {
  return absl::AlreadyExistsError(
      absl::StrCat("another project has the key \"", key, "\"; choose another, or omit it"));
}
absl::Status WorkspaceIsArchived(const std::string& name) {
  return absl::FailedPreconditionError(
      absl::StrCat("workspace \"", name, "\" is archived; unarchive it first"));
}
absl::Status ProjectIsArchived(const std::string& name) {
  return absl::FailedPreconditionError(
      absl::StrCat("project \"", name, "\" is archived; unarchive it first"));
}

}  // namespace det::store
