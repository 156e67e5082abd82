#include "cli/program.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace det::cli {

namespace fs = std::filesystem;

absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {here / name, here / ".." / folder / name}) {
    if (fs::exists(path, error)) return path.lexically_normal().string();
  }
  return absl::NotFoundError(absl::StrCat("there is no ", name, " beside ", here.string(),
                                          "/det; build it with `bazel build //", folder, ":", name,
                                          "`"));
}

absl::Status ExecProgram(const std::string& path, const std::vector<std::string>& argv) {
  std::vector<char*> words = {const_cast<char*>(path.c_str())};
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  return absl::InternalError(absl::StrCat("cannot start ", path, ": ", strerror(errno)));
}

}  // namespace det::cli
