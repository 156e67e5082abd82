#include "master/app/dashboard_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::app {
namespace {

namespace fs = std::filesystem;

// Empty: not found.
std::string FindFolder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"webui", "../webui/dist", "../share/resolute/webui"}) {
    const fs::path folder = program / place;
    if (fs::exists(folder / "index.html", error)) return folder.lexically_normal().string();
  }
  return "";
}

}  // namespace

absl::StatusOr<std::shared_ptr<const gateway::StaticFiles>> ReadPages(const std::string& folder) {
  const std::string found = folder.empty() ? FindFolder() : folder;
  if (found.empty()) return nullptr;
  absl::StatusOr<gateway::StaticFiles> files = gateway::StaticFiles::Read(found);
  if (!files.ok()) {
    return absl::NotFoundError(absl::StrCat("--webui: ", files.status().message(),
                                            "; build it: bazel build //webui:dist"));
  }
  return std::make_shared<const gateway::StaticFiles>(*std::move(files));
}

}  // namespace det::app
