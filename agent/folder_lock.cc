#include "agent/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace det::agent {

absl::StatusOr<base::Fd> LockFolder(const std::string& work_dir) {
  const std::string path = work_dir + "/agent.lock";
  base::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return absl::FailedPreconditionError(absl::StrCat(
      "another agent uses ", work_dir, "; stop it or choose another folder with --work-dir"));
}

}  // namespace det::agent
