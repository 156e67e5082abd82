#include "master/checkpoint_storage/tensorboard_files.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/fd.h"
#include "base/objects/bucket.h"
#include "base/status_macros.h"

namespace det::checkpoint_storage {
namespace {

namespace fs = std::filesystem;

absl::Status CannotRemove(const std::string& folder, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("the master cannot remove the TensorBoard files in ", folder, ": ",
                   std::generic_category().message(error),
                   "; give it access to the checkpoint storage, or remove them there"));
}

absl::Status RemoveFromBucket(objects::Bucket& bucket, std::string prefix,
                              const std::string& folder) {
  if (!prefix.empty() && prefix.back() != '/') prefix += '/';
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> keys,
                       bucket.List(absl::StrCat(prefix, folder, "/")));
  for (const std::string& key : keys) DET_RETURN_IF_ERROR(bucket.Remove(key));
  return absl::OkStatus();
}

// `top`: a folder that an administrator chose, and that may be a link. The links in `path` below it
// may be a task's.
absl::Status RemoveFolder(const std::string& top, const std::vector<std::string>& path) {
  base::Fd folder(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return CannotRemove(top, errno);
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    base::Fd next(
        ::openat(folder.get(), path[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid() && errno == ENOENT) return absl::OkStatus();
    if (!next.valid()) return CannotRemove(absl::StrCat(top, "/", absl::StrJoin(path, "/")), errno);
    folder = std::move(next);
  }
  std::error_code error;
  // Removes links without following them.
  fs::remove_all(fs::path(absl::StrCat("/proc/self/fd/", folder.get())) / path.back(), error);
  if (!error) return absl::OkStatus();
  return CannotRemove(absl::StrCat(top, "/", absl::StrJoin(path, "/")), error.value());
}

}  // namespace

absl::Status RemoveTensorboardFiles(const Rules& rules,
                                    const model::CheckpointStorageConfig& storage,
                                    const std::string& cluster_id, model::ExperimentId id) {
  const std::string folder = absl::StrCat(cluster_id, "/tensorboard/experiment/", id.value());
  if (IsBucket(storage)) {
    DET_ASSIGN_OR_RETURN(const std::unique_ptr<objects::Bucket> bucket, Open(rules, storage));
    return RemoveFromBucket(*bucket, storage.prefix, folder);
  }
  const std::string root = model::CheckpointDirectory(storage);
  if (root.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the master cannot remove TensorBoard files from storage of type ",
                     storage.type, "; remove them there"));
  }
  const bool is_below = storage.type == "shared_fs" && root.starts_with(storage.host_path + "/");
  const std::string top = is_below ? storage.host_path : root;
  std::vector<std::string> path =
      absl::StrSplit(absl::StrCat(root.substr(top.size()), "/", folder), '/', absl::SkipEmpty());
  return RemoveFolder(top, path);
}

}  // namespace det::checkpoint_storage
