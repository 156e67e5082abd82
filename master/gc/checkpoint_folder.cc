#include "master/gc/checkpoint_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "base/fd.h"
#include "base/status_macros.h"

namespace det::gc {
namespace {

namespace fs = std::filesystem;

absl::Status CannotReach(const std::string& folder, const std::error_code& error) {
  return absl::FailedPreconditionError(
      absl::StrCat("the master cannot reach ", folder, ": ", error.message(),
                   "; mount it there, or create an empty folder if the checkpoints no longer "
                   "exist"));
}

// The folder of the checkpoints, with links resolved; a task that can write to the storage must not
// redirect it elsewhere.
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
    return absl::FailedPreconditionError(absl::StrCat(
        given, " is a symbolic link out of ", top, ", to ", root.string(), "; nothing is removed"));
  }
  return root;
}

fs::path SelfPath(const base::Fd& fd) { return absl::StrCat("/proc/self/fd/", fd.get()); }

// The location of a checkpoint.
struct Place {
  fs::path root;
  base::Fd fd;  // kept open: files are looked up relative to it, even if the path changes
};
absl::StatusOr<Place> OpenPlace(const model::CheckpointStorageConfig& storage,
                                const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat("\"", name, "\" is not the name of a checkpoint's folder"));
  }
  Place place;
  DET_ASSIGN_OR_RETURN(place.root, FindRoot(storage));
  place.fd = base::Fd(::open(place.root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  std::error_code error;
  if (!place.fd.valid()) {
    error.assign(errno, std::generic_category());
    return CannotReach(place.root.string(), error);
  }
  if (fs::read_symlink(SelfPath(place.fd), error) != place.root) {
    return absl::FailedPreconditionError(absl::StrCat(place.root.string(), " was moved meanwhile"));
  }
  return place;
}

absl::Status CannotRemove(const fs::path& path, const std::error_code& error) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot remove ", path.string(), ": ", error.message(),
                   "; give the master permission to remove it, then delete again"));
}

bool IsNotThere(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

// Removes the file at the path in `folder`, then each parent folder that is empty. Returns the
// errno of the file; 0 if it does not exist.
int RemoveBelow(int folder, absl::Span<const std::string> path) {
  const char* const name = path.front().c_str();
  if (path.size() == 1) return ::unlinkat(folder, name, 0) == 0 || IsNotThere(errno) ? 0 : errno;
  const base::Fd next(::openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!next.valid()) return IsNotThere(errno) ? 0 : errno;
  const int error = path[1].empty() ? 0 : RemoveBelow(next.get(), path.subspan(1));
  ::unlinkat(folder, name, AT_REMOVEDIR);
  return error;
}

// Whether the path names a file (or a folder, with a trailing '/') in the checkpoint.
bool IsWithin(const std::vector<std::string>& path) {
  return !path.front().empty() && std::all_of(path.begin(), path.end(), [&](const auto& part) {
    return part != "." && part != ".." && (!part.empty() || &part == &path.back());
  });
}

}  // namespace

absl::Status RemoveCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                    const model::CheckpointId& id) {
  DET_ASSIGN_OR_RETURN(const Place place, OpenPlace(storage, id.value()));
  std::error_code error;
  // Removes links, including the folder itself, without following them.
  fs::remove_all(SelfPath(place.fd) / id.value(), error);
  return error ? CannotRemove(place.root / id.value(), error) : absl::OkStatus();
}

absl::Status RemoveFromCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                        const model::CheckpointId& id,
                                        const model::Resources& files) {
  DET_ASSIGN_OR_RETURN(const Place place, OpenPlace(storage, id.value()));
  const base::Fd folder(
      ::openat(place.fd.get(), id.value().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) {
    const std::error_code error(errno, std::generic_category());
    if (IsNotThere(error.value())) return absl::OkStatus();
    return CannotRemove(place.root / id.value(), error);
  }
  // In reverse order, so that contents come before their folder.
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const std::vector<std::string> path = absl::StrSplit(file->first, '/');
    // A name that leads elsewhere is not part of the checkpoint.
    if (!IsWithin(path)) continue;
    const std::error_code error(RemoveBelow(folder.get(), path), std::generic_category());
    if (error) return CannotRemove(place.root / id.value() / file->first, error);
  }
  return absl::OkStatus();
}

absl::Status RemoveCheckpointFiles(const checkpoint_storage::Rules& rules,
                                   const model::CheckpointStorageConfig& storage,
                                   const model::CheckpointId& id) {
  if (!checkpoint_storage::IsBucket(storage)) return RemoveCheckpointFolder(storage, id);
  DET_ASSIGN_OR_RETURN(const auto bucket, checkpoint_storage::Open(rules, storage));
  return checkpoint_storage::RemoveCheckpoint(*bucket, storage, id);
}

absl::Status RemoveSomeCheckpointFiles(const checkpoint_storage::Rules& rules,
                                       const model::CheckpointStorageConfig& storage,
                                       const model::CheckpointId& id,
                                       const model::Resources& files) {
  if (!checkpoint_storage::IsBucket(storage)) return RemoveFromCheckpointFolder(storage, id, files);
  DET_ASSIGN_OR_RETURN(const auto bucket, checkpoint_storage::Open(rules, storage));
  return checkpoint_storage::RemoveFiles(*bucket, storage, id, files);
}

}  // namespace det::gc
