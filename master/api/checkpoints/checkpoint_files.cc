#include "master/api/checkpoints/checkpoint_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fd.h"
#include "base/status_macros.h"
#include "master/checkpoint_storage/checkpoint_location.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {
namespace {

constexpr size_t kFileChunkSize = size_t{1} << 20;
constexpr int64_t kObjectChunkSize = int64_t{8} << 20;

// Opens a regular file without blocking: a task may have created a pipe at this path.
absl::StatusOr<base::Fd> OpenRegular(const std::string& real) {
  base::Fd fd(::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return absl::FailedPreconditionError(
        absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", real)).message());
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(real, " is not a regular file"));
  }
  return fd;
}

ChunkReader MakeFileReader(base::Fd fd) {
  return [fd = std::make_shared<base::Fd>(std::move(fd))]() -> absl::StatusOr<std::string> {
    std::string chunk(kFileChunkSize, '\0');
    const ssize_t got = ::read(fd->get(), chunk.data(), chunk.size());
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read the checkpoint file");
    chunk.resize(static_cast<size_t>(got));
    return chunk;
  };
}

ChunkReader MakeObjectReader(std::unique_ptr<objects::Bucket> bucket, std::string key) {
  struct State {
    std::unique_ptr<objects::Bucket> bucket;
    std::string key;
    int64_t offset = 0;
  };
  const auto state = std::make_shared<State>(std::move(bucket), std::move(key));
  return [state]() -> absl::StatusOr<std::string> {
    DET_ASSIGN_OR_RETURN(std::string chunk,
                         state->bucket->Read(state->key, state->offset, kObjectChunkSize));
    state->offset += static_cast<int64_t>(chunk.size());
    return chunk;
  };
}

// Opens a file inside the checkpoint's directory.
absl::StatusOr<base::Fd> OpenInFolder(const std::string& id, const std::string& folder,
                                      const std::string& path) {
  std::error_code error;
  // Tasks can write to this directory, so the checkpoint's own directory may be a symbolic link to
  // any path. Only its parent is resolved.
  const std::filesystem::path directory(folder);
  const std::string base =
      (std::filesystem::canonical(directory.parent_path(), error) / directory.filename()).string();
  const std::string real =
      error ? "" : std::filesystem::canonical(std::filesystem::path(folder) / path, error).string();
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("the master cannot read ", folder, "/", path, ": ", error.message(),
                     "; read the file on a machine that has access to the checkpoint storage"));
  }
  if (!absl::StartsWith(real, base + "/")) {
    return absl::NotFoundError(
        absl::StrCat("checkpoint ", id, ": ", path, " leaves the checkpoint's directory"));
  }
  return OpenRegular(real);
}

absl::Status MakeStorageError(const std::string& root, const std::string& reason) {
  return absl::FailedPreconditionError(
      absl::StrCat("the master cannot read ", root, ": ", reason,
                   "; nothing was changed; mount the storage on the master's machine"));
}

absl::StatusOr<std::set<std::string>> ListFolder(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool empty = fs::is_empty(folder.parent_path(), error);
  if (error) return MakeStorageError(folder.parent_path(), error.message());
  if (empty) return MakeStorageError(folder.parent_path(), "it is empty");
  std::set<std::string> found;
  // Tasks can write to this directory: links are not followed.
  if (fs::symlink_status(folder, error).type() != fs::file_type::directory) return found;
  auto entry = fs::recursive_directory_iterator(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_symlink(error) || !entry->is_directory(error))
      found.insert(entry->path().lexically_relative(folder));
  }
  if (error) return MakeStorageError(folder, error.message());
  return found;
}

absl::StatusOr<std::set<std::string>> ListObjects(const checkpoint_storage::Rules& rules,
                                                  const model::CheckpointStorageConfig& storage,
                                                  const model::CheckpointId& id) {
  DET_ASSIGN_OR_RETURN(const std::string key, checkpoint_storage::MakeKey(storage, id, "x"));
  const std::string folder = key.substr(0, key.size() - 1);
  DET_ASSIGN_OR_RETURN(const auto bucket, checkpoint_storage::Open(rules, storage));
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> keys, bucket->List(folder));
  std::set<std::string> found;
  for (const std::string& each : keys) found.insert(each.substr(folder.size()));
  return found;
}

}  // namespace

absl::Status CheckFilesNotDeleted(const model::CheckpointRecord& checkpoint) {
  if (checkpoint.state != model::CheckpointState::kDeleting &&
      checkpoint.state != model::CheckpointState::kDeleted) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("checkpoint ", checkpoint.id.value(), " was deleted"));
}

absl::StatusOr<ChunkReader> OpenCheckpointFile(const checkpoint_storage::Rules& rules,
                                               const model::CheckpointStorageConfig& storage,
                                               const model::CheckpointId& id,
                                               const std::string& path) {
  if (checkpoint_storage::IsBucket(storage)) {
    DET_ASSIGN_OR_RETURN(std::string key, checkpoint_storage::MakeKey(storage, id, path));
    DET_ASSIGN_OR_RETURN(auto bucket, checkpoint_storage::Open(rules, storage));
    return MakeObjectReader(std::move(bucket), std::move(key));
  }
  DET_ASSIGN_OR_RETURN(
      base::Fd fd,
      OpenInFolder(id.value(), checkpoint_storage::GetCheckpointFolder(storage, id), path));
  return MakeFileReader(std::move(fd));
}

absl::StatusOr<std::set<std::string>> ListCheckpointFiles(
    const checkpoint_storage::Rules& rules, const model::CheckpointStorageConfig& storage,
    const model::CheckpointId& id) {
  if (checkpoint_storage::IsBucket(storage)) return ListObjects(rules, storage, id);
  return ListFolder(checkpoint_storage::GetCheckpointFolder(storage, id));
}

}  // namespace det::api
