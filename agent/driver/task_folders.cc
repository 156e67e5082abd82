#include "agent/driver/task_folders.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace det::agent {
namespace {

std::string TaskFolder(const std::string& work_dir, const AllocationId& allocation) {
  return absl::StrCat(work_dir, "/tasks/", allocation.value());
}

}  // namespace

bool IsSafeFileName(const std::string& name) {
  if (name.empty() || name.size() > 200 || name[0] == '.') return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && c != '_') return false;
  }
  return true;
}

void RemoveFolder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

TaskFolders GetTaskFolders(const std::string& work_dir, const AllocationId& allocation) {
  const std::string folder = TaskFolder(work_dir, allocation);
  return {.work = folder + "/work", .run = folder + "/run"};
}

void RemoveTaskFolder(const std::string& work_dir, const AllocationId& allocation) {
  if (IsSafeFileName(allocation.value())) RemoveFolder(TaskFolder(work_dir, allocation));
}

KeeperFolder GetKeeperFolder(const std::string& work_dir, const AllocationId& allocation) {
  return KeeperFolder(TaskFolder(work_dir, allocation) + "/keep");
}

}  // namespace det::agent
