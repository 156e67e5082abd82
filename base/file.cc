#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fd.h"
#include "base/status_macros.h"

namespace det::base {
namespace {

absl::Status SystemError(int error, absl::string_view operation, absl::string_view path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", operation, " ", path));
}

absl::Status WriteAll(int fd, absl::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t wrote = ::write(fd, content.data(), content.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return SystemError(errno, "write", path);
    content.remove_prefix(static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

absl::Status SyncDir(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: some file systems cannot sync a directory and need not.
  if (!fd.valid() || (::fsync(fd.get()) != 0 && errno != EINVAL)) {
    return SystemError(errno, "sync directory", path);
  }
  return absl::OkStatus();
}

absl::Status WriteAndRename(int fd, absl::string_view content, unsigned mode,
                            const std::string& temporary, const std::string& path) {
  DET_RETURN_IF_ERROR(WriteAll(fd, content, temporary));
  if (::fchmod(fd, mode) != 0) return SystemError(errno, "set the permissions of", temporary);
  if (::fsync(fd) != 0) return SystemError(errno, "sync", temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return SystemError(errno, "replace", path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError(errno, "open", path);
  std::string content;
  char buffer[65536];
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(errno, "read", path);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
  }
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 unsigned mode) {
  const size_t slash = path.rfind('/');
  const std::string dir = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return SystemError(errno, "write", path);
  const absl::Status status = WriteAndRename(fd.get(), content, mode, temporary, path);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return SyncDir(dir);
}

absl::Status WriteFile(const std::string& path, absl::string_view content, unsigned mode) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return SystemError(errno, "write", path);
  DET_RETURN_IF_ERROR(WriteAll(fd.get(), content, path));
  if (::fchmod(fd.get(), mode) != 0) return SystemError(errno, "set the permissions of", path);
  return absl::OkStatus();
}

absl::Status MakeDirs(const std::string& path, unsigned mode) {
  std::error_code error;
  const std::filesystem::path last = path.substr(0, path.find_last_not_of('/') + 1);
  if (last.has_parent_path()) std::filesystem::create_directories(last.parent_path(), error);
  if (error) return SystemError(error.value(), "create directory", path);
  const int failure = ::mkdir(last.empty() ? path.c_str() : last.c_str(), mode) == 0 ? 0 : errno;
  if (failure != 0 && failure != EEXIST) return SystemError(failure, "create directory", path);
  if (!std::filesystem::is_directory(path, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot create directory ", path, ": a file with this name exists"));
  }
  return absl::OkStatus();
}

bool LinkStaysInside(absl::string_view path, absl::string_view target) {
  if (target.empty() || target.front() == '/') return false;
  int depth = -1;  // The link's own name does not count.
  for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    depth += part == "." ? 0 : 1;
  }
  bool named = false;
  for (const absl::string_view part : absl::StrSplit(target, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part != "..") {
      named = true;
    } else if (named || --depth < 0) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<TempDir> TempDir::Create(absl::string_view prefix) {
  const char* parent = ::getenv("TMPDIR");
  std::string path =
      absl::StrCat(parent != nullptr && *parent != 0 ? parent : "/tmp", "/", prefix, "-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return SystemError(errno, "create directory", path);
  return TempDir(std::move(path));
}

TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ignored;  // A temporary directory that remains does no harm.
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace det::base
