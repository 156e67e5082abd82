#include "cli/program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace det::cli {

namespace fs = std::filesystem;

absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {here / name, here / ".." / folder / name}) {
    if (fs::exists(path, error)) return path.lexically_normal().string();
  }
  return absl::NotFoundError(absl::StrCat("cannot find ", name, " next to ", here.string(),
                                          "/det; build it with `bazel build //", folder, ":", name,
                                          "`"));
}

absl::StatusOr<std::string> GetOwnPath() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError(absl::StrCat("/proc/self/exe: ", error.message()));
  return path.string();
}

absl::Status ExecProgram(const std::string& path, const std::vector<std::string>& argv) {
  std::vector<char*> words = {const_cast<char*>(path.c_str())};
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  return absl::InternalError(absl::StrCat("cannot start ", path, ": ", strerror(errno)));
}

std::vector<std::string> MakeEnvironment(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const absl::string_view entry = *each;
    const absl::string_view name = entry.substr(0, entry.find('='));
    const bool replaced =
        std::any_of(variables.begin(), variables.end(), [&](const std::string& variable) {
          return absl::StartsWith(variable, absl::StrCat(name, "="));
        });
    if (!replaced) all.emplace_back(entry);
  }
  return all;
}

}  // namespace det::cli
