#include "master/api/checkpoints/checkpoint_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fd.h"
#include "base/status_macros.h"
#include "master/checkpoint_storage/checkpoint_location.h"

namespace det::api {
namespace {

constexpr size_t kOfFile = size_t{1} << 20;
constexpr int64_t kOfBucket = int64_t{8} << 20;

// Never waits: a task may have left a pipe where a file should be.
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

Pieces PiecesOfFile(base::Fd fd) {
  return [fd = std::make_shared<base::Fd>(std::move(fd))]() -> absl::StatusOr<std::string> {
    std::string piece(kOfFile, '\0');
    const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read the checkpoint's file");
    piece.resize(static_cast<size_t>(got));
    return piece;
  };
}

Pieces PiecesOfObject(std::unique_ptr<objects::Bucket> bucket, std::string key) {
  struct Reading {
    std::unique_ptr<objects::Bucket> bucket;
    std::string key;
    int64_t at = 0;
  };
  const auto reading = std::make_shared<Reading>(std::move(bucket), std::move(key));
  return [reading]() -> absl::StatusOr<std::string> {
    DET_ASSIGN_OR_RETURN(std::string piece,
                         reading->bucket->Read(reading->key, reading->at, kOfBucket));
    reading->at += static_cast<int64_t>(piece.size());
    return piece;
  };
}

// Inside the checkpoint's folder.
absl::StatusOr<base::Fd> OpenInFolder(const std::string& id, const std::string& folder,
                                      const std::string& path) {
  std::error_code error;
  // A task writes here too: the checkpoint's own folder may be a link that leads anywhere.
  const std::filesystem::path place(folder);
  const std::string base =
      (std::filesystem::canonical(place.parent_path(), error) / place.filename()).string();
  const std::string real =
      error ? "" : std::filesystem::canonical(std::filesystem::path(folder) / path, error).string();
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("the master cannot reach ", folder, "/", path,
                                                      ": ", error.message(),
                                                      "; copy it where the checkpoint lies"));
  }
  if (!absl::StartsWith(real, base + "/")) {
    return absl::NotFoundError(absl::StrCat("checkpoint ", id, ": ", path, " leads out of it"));
  }
  return OpenRegular(real);
}

}  // namespace

absl::Status CheckFilesStay(const model::CheckpointRecord& checkpoint) {
  if (checkpoint.state != model::CheckpointState::kDeleting &&
      checkpoint.state != model::CheckpointState::kDeleted) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("checkpoint ", checkpoint.id.value(), " was deleted"));
}

absl::StatusOr<Pieces> OpenCheckpointFile(const checkpoint_storage::Rules& rules,
                                          const model::CheckpointStorageConfig& storage,
                                          const model::CheckpointId& id, const std::string& path) {
  if (checkpoint_storage::IsBucket(storage)) {
    DET_ASSIGN_OR_RETURN(std::string key, checkpoint_storage::MakeKey(storage, id, path));
    DET_ASSIGN_OR_RETURN(auto bucket, checkpoint_storage::Open(rules, storage));
    return PiecesOfObject(std::move(bucket), std::move(key));
  }
  DET_ASSIGN_OR_RETURN(
      base::Fd fd,
      OpenInFolder(id.value(), checkpoint_storage::GetCheckpointFolder(storage, id), path));
  return PiecesOfFile(std::move(fd));
}

}  // namespace det::api
