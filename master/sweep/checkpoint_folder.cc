#include "master/sweep/checkpoint_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/fd.h"
#include "base/status_macros.h"

namespace det::sweep {
namespace {

namespace fs = std::filesystem;

absl::Status CannotReach(const std::string& folder, const std::error_code& error) {
  return absl::FailedPreconditionError(
      absl::StrCat("the master cannot reach ", folder, ": ", error.message(),
                   "; mount it there, or make an empty folder if the checkpoints are gone"));
}

// The folder in which checkpoints lie, without links; a task that writes below the storage's root
// must not have led it out of there.
absl::StatusOr<fs::path> FindRoot(const model::CheckpointStorageConfig& storage) {
  const std::string given = model::CheckpointDirectory(storage);
  if (given.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the master cannot remove checkpoints from storage of type ", storage.type,
                     "; remove them there"));
  }
  const std::string& top = storage.type == "shared_fs" ? storage.host_path : given;
  std::error_code error;
  const fs::path host = fs::canonical(top, error);
  if (error) return CannotReach(top, error);
  const fs::path root = fs::canonical(given, error);
  if (error) return CannotReach(given, error);
  if (std::mismatch(host.begin(), host.end(), root.begin(), root.end()).first != host.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat(given, " leads out of ", top, ", to ", root.string(), "; nothing is removed"));
  }
  return root;
}

}  // namespace

absl::Status RemoveCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                    const model::CheckpointId& id) {
  const std::string& name = id.value();
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat("\"", name, "\" is not the name of a checkpoint's folder"));
  }
  DET_ASSIGN_OR_RETURN(const fs::path root, FindRoot(storage));
  // Held open: what is below is looked up from here, whatever becomes of the way to it.
  const base::Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  std::error_code error;
  if (!fd.valid()) {
    error.assign(errno, std::generic_category());
    return CannotReach(root.string(), error);
  }
  const fs::path here = absl::StrCat("/proc/self/fd/", fd.get());
  if (fs::read_symlink(here, error) != root) {
    return absl::FailedPreconditionError(absl::StrCat(root.string(), " was moved meanwhile"));
  }
  // Does not follow links, the folder's own name included: it removes these.
  fs::remove_all(here / name, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot remove ", (root / name).string(), ": ", error.message(),
                   "; let the master remove it, then delete again"));
}

absl::Status RemoveCheckpointFiles(const buckets::Rules& rules,
                                   const model::CheckpointStorageConfig& storage,
                                   const model::CheckpointId& id) {
  if (!buckets::IsBucket(storage)) return RemoveCheckpointFolder(storage, id);
  DET_ASSIGN_OR_RETURN(const auto bucket, buckets::Open(rules, storage));
  return buckets::Remove(*bucket, storage, id);
}

}  // namespace det::sweep
