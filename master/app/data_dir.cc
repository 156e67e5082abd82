#include "master/app/data_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace det::app {
namespace {

std::string Remedy(absl::string_view problem) {
  return absl::StrCat(problem, "; choose another directory with --data-dir");
}

absl::Status NotWritable(const std::string& path, absl::string_view reason) {
  return absl::PermissionDeniedError(
      Remedy(absl::StrCat("data directory ", path, " is not writable (", reason, ")")));
}

}  // namespace

absl::StatusOr<DataDir> DataDir::Open(const std::string& path) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error) return NotWritable(path, error.message());
  // Other users can enter it to reach checkpoints, but not list it.
  const absl::Status made = base::MakeDirs(absolute, 0711);
  if (!made.ok()) return NotWritable(absolute, made.message());
  const std::string lock_path = absolute + "/master.lock";
  base::Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return NotWritable(absolute, absl::ErrnoToStatus(errno, "").message());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    std::string holder = base::ReadFile(lock_path).value_or("");
    absl::StripAsciiWhitespace(&holder);
    return absl::FailedPreconditionError(
        absl::StrCat("another master is using ", absolute, " (pid ", holder,
                     "); stop it, or choose another directory with --data-dir"));
  }
  const std::string pid = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(lock.get(), 0) != 0 ||
      ::pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return NotWritable(absolute, absl::ErrnoToStatus(errno, "").message());
  }
  return DataDir(absolute, std::move(lock));
}

DataDir::~DataDir() {
  if (announced_ && lock_.valid()) ::unlink((path_ + "/master.json").c_str());
}

absl::Status DataDir::Announce(int port, const std::string& url) {
  announced_ = true;
  return base::WriteFileAtomically(
      path_ + "/master.json",
      absl::StrCat("{\"pid\": ", ::getpid(), ", \"port\": ", port, ", \"url\": \"", url, "\"}\n"));
}

}  // namespace det::app
